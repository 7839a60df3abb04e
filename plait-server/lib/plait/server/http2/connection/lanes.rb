# frozen_string_literal: true

require_relative "../lane"

module Plait
  class Server
    module HTTP2
      class Connection
        # Which lane carries which stream, and whose turn it is.
        module Lanes
          # Lanes without a request that are kept for the next ones.
          KEPT = 16

          private

          def free_lane
            _, lane = @free.shift
            return lane if lane.nil? || !lane.stale?

            discard(lane)
            free_lane
          rescue *Lane::ENDS
            discard(lane)
            free_lane
          end

          def new_lane
            lane = Lane.new(@bring.call, @session)
            @reactor.add(lane.io, lane, lane.armed = Lane::READABLE)
            lane
          end

          # Nothing comes on one that nobody uses, but its end.
          def ready(lane)
            lane.armed = nil
            lane.stream ? serve(lane) : discard(lane)
          end

          def serve(lane)
            lane.move
            return unless lane.ended? && lane.stream

            @lanes.delete(lane.stream.id)
            lane.leave
            lane.reusable? && @free.size < KEPT && !@draining ? keep(lane) : discard(lane)
          end

          def keep(lane)
            @free[lane] = lane
            arm_lane(lane)
          end

          def discard(lane)
            @free.delete(lane)
            return if lane.io.closed?

            @reactor.remove(lane.io)
            lane.close
          end

          # Each has its turn: who had one is the last to have the next.
          def look_at_all
            @look = false
            @lanes.to_a.each do |id, lane|
              break unless @session.open?

              @lanes[id] = @lanes.delete(id)
              serve(lane)
            end
          end

          def arm_lane(lane)
            wanted = lane.interest
            return if wanted.zero? || lane.armed == wanted

            @reactor.rearm(lane.io, lane.armed = wanted)
          end
        end
      end
    end
  end
end
