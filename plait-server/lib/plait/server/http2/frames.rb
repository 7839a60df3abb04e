# frozen_string_literal: true

module Plait
  class Server
    module HTTP2
      # Frames as bytes (RFC 9113 §4, §6).
      module Frames
        # Bytes of a frame's head.
        HEAD = 9
        # Bytes of a frame that we take, its head not counted: what every peer may send (§4.2).
        LARGEST = 16_384

        DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = *0..9
        END_STREAM = ACK = 0x1
        END_HEADERS = 0x4
        PADDED = 0x8
        PRIORITIZED = 0x20

        # In the order of their numbers (§7).
        ERRORS = %i[no_error protocol_error internal_error flow_control_error settings_timeout stream_closed frame_size_error
                    refused_stream cancel compression_error connect_error enhance_your_calm inadequate_security
                    http_1_1_required].freeze

        # One that was received.
        Frame = Struct.new(:type, :flags, :id, :payload) do
          # @return [Boolean]
          def flag?(bit) = flags.anybits?(bit)
        end

        module_function

        # @return [String] binary
        def build(type, flags, id, payload = "")
          size = payload.bytesize
          [size >> 16, size & 0xffff, type, flags, id].pack("CnCCN") << payload
        end

        # @param error [Symbol] of {ERRORS}
        # @return [Integer]
        def code(error) = ERRORS.index(error)
      end
    end
  end
end
