# frozen_string_literal: true

require_relative "session"

module Plait
  module Protocols
    module HTTP2
      # A client's side of a connection. It calls the host also with `head(stream, fields, last)` for each head on a stream,
      # trailers among them, and with `go_away(last, error, words)`: streams behind the last get no answer.
      class Client < Session
        # Bytes that the peer may send before we say that we have taken them, on each stream and on all together. What has come
        # on a stream without a reader does not hold up the others.
        WINDOW = 1024 * 1024
        # Streams at once, before the peer's settings have come: it would refuse more, and mostly sends its settings before the
        # first answer.
        FIRST_STREAMS = 1
        # Streams at once, however many the peer allows.
        MOST_STREAMS = 256
        # After this one a client's ids are used up (§5.1.1).
        LAST_ID = (1 << 31) - 3

        # @return [Boolean] whether a stream is free
        def place? = !ending? && @streams.size < allowed

        # @param owner [Object] of the stream
        # @param fields [Array<Array(String, String)>] in lower case, pseudo fields first
        # @param last [Boolean] whether there is no body
        def open(owner, fields, last:)
          @newest += 2
          @draining = true if @newest >= LAST_ID
          stream = @streams[@newest] = Stream.new(@newest, @peer.window, WINDOW)
          stream.owner = owner
          send_head(stream, fields, last: last)
          stream
        end

        # @return [Array<Stream>] under way
        def streams = @streams.values

        private

        def allowed
          most = @greeted ? MOST_STREAMS : FIRST_STREAMS
          [@peer.streams || most, most].min
        end

        def preface = ""

        def window = WINDOW

        def whole_window = WINDOW

        def largest_block = @largest * MARGIN

        def greet
          @newest = -1
          @output << PREFACE
          put_settings(Settings::PUSH, 0, Settings::WINDOW, WINDOW)
        end

        def unopened?(id) = id > @newest || id.even?

        def check_stream(id) = idle(id)

        def stranger(block, _fields) = ended(block.id)

        def hold(_stream, size) = grant(size)

        def take_head(stream, fields, last)
          fields.empty? ? @calm.spend : @calm.earn(1)
          @host.head(stream, fields, last)
          end_receiving(stream, nil) if last
        end

        def receive_body(stream, body, size, last)
          @calm.earn(1) unless body.empty?
          super
        end

        def end_receiving(stream, trailers)
          super
          @calm.earn(Calm::ANSWER)
          forget(stream) unless stream.sending?
        end

        def end_sending(stream)
          stream.end_sending
          forget(stream) unless stream.receiving?
        end

        def goaway(frame)
          last, code = super
          @host.go_away(last, Frames.error(code), frame.payload.byteslice(8..))
        end
      end
    end
  end
end
