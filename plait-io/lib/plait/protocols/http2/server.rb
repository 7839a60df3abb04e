# frozen_string_literal: true

require_relative "request_head"
require_relative "session"

module Plait
  module Protocols
    module HTTP2
      # A server's side of a connection. It calls the host also with `request(stream, head)`, a {RequestHead}.
      class Server < Session
        # Bytes that the peer may send on a stream, and on all together, before the app has read them.
        WINDOW = 256 * 1024
        WHOLE_WINDOW = 1024 * 1024
        private_constant :WINDOW, :WHOLE_WINDOW

        def taken(stream, count)
          return unless @streams.key?(stream.id)

          stream.held -= count
          grant(count)
          super
        end

        private

        def preface = PREFACE

        def window = WINDOW

        def whole_window = WHOLE_WINDOW

        def largest_block = @largest

        def greet = put_settings(Settings::STREAMS, STREAMS, Settings::WINDOW, WINDOW, Settings::LIST, @largest)

        def unopened?(id) = id > @last || id.even?

        def check_stream(id)
          raise broken(:protocol_error, "a request on stream #{id}", "§5.1.1") if id.even?
        end

        def stranger(block, fields)
          block.id > @last ? open_stream(block, fields) : ended(block.id)
        end

        def open_stream(block, fields)
          @last = block.id
          return refuse(block.id, :refused_stream) if ending? || @streams.size >= STREAMS
          return refuse(block.id, :protocol_error) if block.on_itself?

          begin_request(block, RequestHead.new(fields, block.last?))
        rescue RequestHead::Malformed
          refuse(block.id, :protocol_error)
        end

        def begin_request(block, head)
          stream = Stream.new(block.id, @peer.window, WINDOW)
          stream.length = head.length
          stream.end_receiving if block.last?
          raise RequestHead::Malformed if stream.wrong_length?

          @streams[block.id] = stream
          @host.request(stream, head)
          @host.finish(stream, []) if block.last?
        end

        def refuse(id, error)
          put_reset(id, error)
          @calm.spend(Calm::RESET)
        end

        # Trailers.
        def take_head(stream, fields, last)
          wrong = last ? RequestHead.fault(fields) : "a second head that does not end its stream"
          wrong ? fault(stream, :protocol_error, wrong, "§8.1") : end_receiving(stream, fields)
        end

        # The whole answer is sent. A peer that is still sending its request gets a RST_STREAM for the rest (§8.1).
        def end_sending(stream)
          @calm.earn(Calm::ANSWER)
          put_reset(stream.id, :no_error) if stream.receiving?
          forget(stream)
        end
      end
    end
  end
end
