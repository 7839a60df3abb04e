# frozen_string_literal: true

require "plait/io/channel"
require "plait/values/deadline"

module Plait
  class Server
    module HTTP2
      class Connection
        # The last words, and that they arrive.
        module Goodbye
          # Seconds, and bytes, that a peer may go on sending after it was told that it is not heard any more: a connection closed
          # with bytes unread is reset, and our last words would be lost.
          LINGER = 1
          LINGERED = 256 * 1024

          private

          def say_goodbye
            deadline = Deadline.after(LINGER)
            until @session.output.empty? || deadline.expired?
              transmit
              @channel.wait(:write, deadline.remaining) unless @session.output.empty?
            end
            @channel.end_writing
            linger(deadline)
          rescue *Io::Channel::BREAKS
            nil # it did not want to know
          end

          def linger(deadline)
            left = LINGERED
            until deadline.expired? || left.negative?
              bytes = @channel.receive
              bytes ? left -= bytes.bytesize : @channel.wait(:read, deadline.remaining)
            end
          end
        end
      end
    end
  end
end
