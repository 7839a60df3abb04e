# frozen_string_literal: true

require_relative "violation"

module Plait
  class Server
    module HTTP2
      # What the peer wants (RFC 9113 §6.5.2), as far as it concerns a server.
      class Settings
        TABLE_SIZE, PUSH, STREAMS, WINDOW, FRAME, LIST = *1..6
        LARGEST_WINDOW = (1 << 31) - 1
        FRAMES = (16_384..16_777_215)
        # In one frame. There are six of them, and some more of extensions.
        MOST = 64

        # @return [Integer] of each stream in the beginning
        attr_reader :window
        # @return [Integer] bytes of a frame
        attr_reader :frame
        # @return [Integer, nil] bytes of the table by which heads are compressed, if it was said anew
        attr_reader :table_size

        def initialize
          @window = 65_535
          @frame = 16_384
        end

        # @param payload [String] of a frame
        # @return [void]
        # @raise [Violation]
        def apply(payload)
          raise broken(:frame_size_error, "a SETTINGS frame of #{payload.bytesize} bytes") unless (payload.bytesize % 6).zero?
          raise broken(:enhance_your_calm, "#{payload.bytesize / 6} settings") if payload.bytesize > MOST * 6

          @table_size = nil
          payload.unpack("nN" * (payload.bytesize / 6)).each_slice(2) { |number, value| set(number, value) }
        end

        private

        def set(number, value)
          case number
          when TABLE_SIZE then @table_size = value
          when PUSH then raise broken(:protocol_error, "ENABLE_PUSH #{value}") if value > 1
          when WINDOW then @window = window_of(value)
          when FRAME then @frame = frame_of(value)
          end
        end

        def window_of(value)
          value <= LARGEST_WINDOW ? value : raise(broken(:flow_control_error, "INITIAL_WINDOW_SIZE #{value}"))
        end

        def frame_of(value)
          FRAMES.cover?(value) ? value : raise(broken(:protocol_error, "MAX_FRAME_SIZE #{value}"))
        end

        def broken(code, what) = Violation.new(code, what, "§6.5")
      end
    end
  end
end
