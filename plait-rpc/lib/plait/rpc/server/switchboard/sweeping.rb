# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  module RPC
    class Server
      class Switchboard
        # Who has been silent for too long.
        module Sweeping
          # Bytes within the time for a message by which half a message gets that time again.
          PROGRESS = 64 * 1024

          private

          # @return [Boolean] whether its time begins anew
          def progress?(peer, queue)
            case queue
            when STALLED then peer.moved?(peer.connection.sent, 1)
            when PARTIAL then peer.moved?(peer.connection.received, peer.fresh ? 0 : PROGRESS)
            else true
            end
          end

          def next_sweep
            soonest = @timeouts.map { |queue, seconds| (@reactor.oldest(queue) || Deadline.now) + seconds }.min
            soonest && Deadline.new(soonest)
          end

          def sweep_out
            @timeouts.each do |queue, seconds|
              @reactor.expire(queue, Deadline.now - seconds).each { |peer| expire(peer, queue, seconds) }
            end
            @sweep = next_sweep
          end

          def expire(peer, queue, seconds)
            return @lock.exclusively { arm(peer, :idle) if @peers.key?(peer) } if queue == IDLE && peer.busy?

            what = { IDLE => "was idle for", PARTIAL => "sent half a message within", STALLED => "read nothing for" }.fetch(queue)
            peer.connection.close("#{what} #{format("%g", seconds)} s")
          end
        end
      end
    end
  end
end
