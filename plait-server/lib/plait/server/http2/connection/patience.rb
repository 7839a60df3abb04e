# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  class Server
    module HTTP2
      class Connection
        # How long a peer may take for what.
        module Patience
          # Seconds between two looks at streams that wait for their peer.
          LOOK = 1

          private

          # Seconds for the greeting, and between two requests.
          def patience = @session.greeted? ? @options.idle_timeout : @options.head_timeout

          def look_at_times
            now = Deadline.now
            @idle = now unless @session.idle?
            @moved = now if @session.output.empty?
            @assembled = now unless @session.assembling?
            give_up if late?(@moved, @options.write_timeout, now) || late?(@assembled, @options.head_timeout, now)
            end_idle if late?(@idle, patience, now)
            look_at_lanes(now) if late?(@looked, LOOK, now)
          end

          def late?(since, seconds, now) = !seconds.nil? && now - since >= seconds

          # Nobody is there to be told.
          def give_up = @over = @gone = true

          def end_idle = @session.greeted? ? @session.drain : give_up

          # The core waits for the peer as long, and would not notice what is stuck here.
          def look_at_lanes(now)
            @looked = now
            late = @lanes.values.select { |lane| lane.stalled?(now, @options.write_timeout) }
            late.each { |lane| @session.reset(lane.stream, :cancel) }
          end
        end
      end
    end
  end
end
