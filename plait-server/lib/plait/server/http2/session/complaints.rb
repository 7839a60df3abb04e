# frozen_string_literal: true

require_relative "../calm"
require_relative "../frames"
require_relative "../violation"

module Plait
  class Server
    module HTTP2
      class Session
        # What a frame must be, and what becomes of it if it isn't.
        module Complaints
          private

          def stream_only(frame)
            raise broken(:protocol_error, "#{HANDLERS[frame.type].upcase} on stream 0", "§6") if frame.id.zero?
          end

          def connection_only(frame)
            raise broken(:protocol_error, "#{HANDLERS[frame.type].upcase} on a stream", "§6") unless frame.id.zero?
          end

          def size(frame, bytes)
            return if frame.payload.bytesize == bytes

            raise broken(:frame_size_error, "#{HANDLERS[frame.type].upcase} of #{frame.payload.bytesize} bytes", "§6")
          end

          def idle(id)
            raise broken(:protocol_error, "a frame on stream #{id}, which nobody has opened", "§5.1") if id > @last || id.even?
          end

          # A mistake of the peer's, on that stream alone. It costs as much as one that the peer resets, and is as cheap to it.
          def fault(stream, error)
            reset(stream, error)
            @calm.spend(Calm::RESET)
            true
          end

          def broken(code, what, section) = Violation.new(code, what, section)
        end
      end
    end
  end
end
