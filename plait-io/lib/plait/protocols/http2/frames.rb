# frozen_string_literal: true

require_relative "../hpack/table"

module Plait
  module Protocols
    # HTTP/2 (RFC 9113), for clients and servers: bytes in, events and bytes out, see {Session}.
    module HTTP2
      # The fields of heads and trailers (RFC 9113 §8.2).
      module Fields
        # About one connection only: they can't go by HTTP/2 (§8.2.2).
        CONNECTION = %w[connection keep-alive proxy-connection transfer-encoding upgrade http2-settings].freeze
        NAME = /\A[!#$%&'*+\-.^_`|~0-9a-z]+\z/n
        # As a server takes them: what could be two requests of HTTP/1.1 is none.
        STRICT = /\A(?:[^\x00-\x20\x7f](?:[^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?\z/n
        # As a client takes them (§8.2.1).
        LENIENT = /\A(?:[^\x00\x0a\x0d \t](?:[^\x00\x0a\x0d]*[^\x00\x0a\x0d \t])?)?\z/n

        # Names that are right, so that most fields need one look-up: of HPACK's table, and of browsers.
        KNOWN = [*(HPACK::Table::STATIC.map(&:first).grep(NAME) - CONNECTION), "priority", "sec-fetch-dest",
                 "sec-fetch-mode", "sec-fetch-site", "upgrade-insecure-requests"].to_h { |name| [name, true] }.freeze

        # @param fields [Array<Array(String, String)>] binary, without pseudo fields
        # @param values [Regexp] {STRICT} or {LENIENT}
        # @return [String, nil] what is wrong with them
        def self.fault(fields, values)
          fields.each do |name, value|
            wrong = KNOWN.key?(name) ? nil : name_fault(name)
            return wrong if wrong
            return "the value #{value.inspect[0, 80]} of #{name}" unless values.match?(value)
            return "te of something else than trailers" if name == "te" && value != "trailers" && values.equal?(STRICT) # §8.2.2
          end
          nil
        end

        def self.name_fault(name)
          return "the pseudo field #{name} behind other fields, or in trailers" if name.start_with?(":")

          "a field named #{name.inspect[0, 80]}" if !NAME.match?(name) || CONNECTION.include?(name)
        end
      end

      # The protocols offered by ALPN (RFC 7301), the preferred one first.
      ALPN = %w[h2 http/1.1].freeze
      # The first bytes of a client (§3.4).
      PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".b.freeze

      # @param io [Object] connected
      # @return [Boolean] whether its peer has chosen HTTP/2
      def self.spoken?(io) = io.respond_to?(:alpn_protocol) && io.alpn_protocol == "h2"

      # A fault of the peer (§5.4).
      class Violation < RemoteProtocolError
        # @return [Symbol] of {Frames::ERRORS}: what RST_STREAM or GOAWAY says
        attr_reader :code

        # @param section [String] of RFC 9113
        def initialize(code, what, section)
          @code = code
          super("the peer broke HTTP/2: #{what}", rule: :http2, section: "RFC 9113 #{section}")
        end
      end

      # Frames as bytes (§4, §6).
      module Frames
        # Bytes of a frame's head.
        HEAD = 9
        # Bytes of a frame, its head not counted: every peer may send, and takes, this many (§4.2).
        LARGEST = 16_384

        DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = *0..9
        END_STREAM = ACK = 0x1
        END_HEADERS = 0x4
        PADDED = 0x8
        PRIORITIZED = 0x20

        # In the order of their numbers (§6).
        NAMES = %i[data headers priority rst_stream settings push_promise ping goaway window_update continuation].freeze
        # In the order of their numbers (§7).
        ERRORS = %i[no_error protocol_error internal_error flow_control_error settings_timeout stream_closed frame_size_error
                    refused_stream cancel compression_error connect_error enhance_your_calm inadequate_security
                    http_1_1_required].freeze

        # A received frame.
        Frame = Struct.new(:type, :flags, :id, :payload) do
          def flag?(bit) = flags.anybits?(bit)

          # @raise [Violation]
          def stream_only = (refuse(:protocol_error, "#{title} on stream 0", "§6") if id.zero?)

          # @raise [Violation]
          def connection_only = (refuse(:protocol_error, "#{title} on a stream", "§6") unless id.zero?)

          # @param bytes [Integer] of the payload
          # @raise [Violation]
          def sized(bytes)
            refuse(:frame_size_error, "#{title} of #{payload.bytesize} bytes", "§6") unless payload.bytesize == bytes
          end

          # @return [String] the payload without its padding
          # @raise [Violation]
          def unpadded
            return payload unless flag?(PADDED)

            padding = payload.getbyte(0)
            rest = payload.bytesize - 1 - padding.to_i
            refuse(:protocol_error, "more padding than frame", "§6.1") if padding.nil? || rest.negative?
            payload.byteslice(1, rest)
          end

          # @return [Array(String, Integer)] a part of a header block, and the stream that the frame names as its parent, or nil
          # @raise [Violation]
          def fragment
            bytes = unpadded
            return [bytes, nil] unless flag?(PRIORITIZED)

            refuse(:frame_size_error, "HEADERS too short for a priority", "§6.2") if bytes.bytesize < 5
            [bytes.byteslice(5..), bytes.unpack1("N") & 0x7fff_ffff]
          end

          private

          def title = NAMES[type].upcase

          def refuse(code, what, section) = raise(Violation.new(code, what, section))
        end

        module_function

        # @return [String] binary
        def build(type, flags, id, payload = "")
          size = payload.bytesize
          [size >> 16, size & 0xffff, type, flags, id].pack("CnCCN") << payload
        end

        # @param error [Symbol] of {ERRORS}
        def code(error) = ERRORS.index(error)

        # @return [Symbol] the number itself, where it has no name
        def error(code) = ERRORS[code] || :"(#{code})"
      end

      # Bytes in, frames out.
      class FrameReader
        # @param preface [String] what the peer's first bytes have to be
        def initialize(preface)
          @bytes = "".b
          @at = 0
          @preface = preface
          @greeted = preface.empty?
        end

        # @param bytes [String] received
        def <<(bytes)
          @bytes = @at == @bytes.bytesize ? "".b : @bytes.byteslice(@at..) if @at.positive?
          @at = 0
          @bytes << bytes
          self
        end

        # @return [Frames::Frame, nil] nil: more bytes are needed
        # @raise [Violation]
        def next
          return unless @greeted || greeted?
          return if left < Frames::HEAD

          high, low, type, flags, id = @bytes.unpack("CnCCN", offset: @at)
          size = check((high << 16) | low)
          return if left < Frames::HEAD + size

          payload = @bytes.byteslice(@at + Frames::HEAD, size)
          @at += Frames::HEAD + size
          Frames::Frame.new(type, flags, id & 0x7fff_ffff, payload)
        end

        private

        def left = @bytes.bytesize - @at

        def greeted?
          start = @bytes.byteslice(0, @preface.bytesize)
          raise Violation.new(:protocol_error, "it began with #{start.inspect}", "§3.4") unless @preface.start_with?(start)
          return unless start.bytesize == @preface.bytesize

          @at = @preface.bytesize
          @greeted = true
        end

        # Before the frame's bytes have come: of a peer with another protocol we would wait for megabytes.
        def check(size)
          return size if size <= Frames::LARGEST

          raise Violation.new(:frame_size_error, "a frame of #{size} bytes, where #{Frames::LARGEST} are allowed", "§4.2")
        end
      end

      # What the peer wants (§6.5.2).
      class Settings
        TABLE_SIZE, PUSH, STREAMS, WINDOW, FRAME, LIST = *1..6
        LARGEST_WINDOW = (1 << 31) - 1
        FRAMES = (16_384..16_777_215)
        # In one frame. There are six of them, and some more of extensions.
        MOST = 64

        # @return [Integer] bytes that a stream begins with
        attr_reader :window
        # @return [Integer] bytes of a frame
        attr_reader :frame
        # @return [Integer, nil] streams at once; nil: any number
        attr_reader :streams
        # @return [Integer, nil] bytes of the table by which heads are compressed, if the last frame has such a setting
        attr_reader :table_size

        def initialize
          @window = 65_535
          @frame = 16_384
        end

        # @param payload [String] of a frame
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
          when STREAMS then @streams = value
          when WINDOW then @window = window_of(value)
          when FRAME then @frame = frame_of(value)
          end
        end

        def window_of(value)
          value <= LARGEST_WINDOW ? value : raise(broken(:flow_control_error, "INITIAL_WINDOW_SIZE #{value}"))
        end

        def frame_of(value) = FRAMES.cover?(value) ? value : raise(broken(:protocol_error, "MAX_FRAME_SIZE #{value}"))

        def broken(code, what) = Violation.new(code, what, "§6.5")
      end
    end
  end
end
