# frozen_string_literal: true

require_relative "calm"
require_relative "frame_reader"
require_relative "frames"
require_relative "hpack"
require_relative "session/complaints"
require_relative "session/control"
require_relative "session/requests"
require_relative "settings"
require_relative "violation"

module Plait
  class Server
    module HTTP2
      # A server's side of one connection (RFC 9113): bytes in, calls of its host and bytes out. It does no IO.
      #
      # The host is told: `request(stream, head)` ({RequestHead}), `data(stream, bytes)`, `finish(stream, trailers)`,
      # `reset(stream)` (nobody wants its answer any more) and `granted(stream)` (more may be sent on it; of nil: on all).
      class Session
        include Complaints
        include Control
        include Requests

        # Streams at once.
        STREAMS = 128
        # Bytes that the peer may send on a stream, and on all together, before somebody has taken them.
        WINDOW = 256 * 1024
        WHOLE_WINDOW = 1024 * 1024
        # Streams that were reset by us, of which frames may still be on their way.
        REMEMBERED = 1024
        # Frames after which others may have their turn: they may be many in what is received at once, and bring little.
        TURN = 64
        # Bytes to be sent with which nobody begins to send more.
        CONGESTED = 128 * 1024
        # By the number of their type.
        HANDLERS = %i[data headers priority rst_stream settings push_promise ping goaway window_update continuation].freeze

        # @return [String] binary: what is to be sent; who sends takes it from the front
        attr_reader :output

        # @param host [#request, #data, #finish, #reset, #granted]
        # @param largest [Integer] bytes of a head
        def initialize(host, largest)
          @host = host
          @largest = largest
          @reader = FrameReader.new
          @hpack = Hpack.new(largest)
          @calm = Calm.new
          @peer = Settings.new
          @streams = {}
          @gone = {}
          @last = 0
          @window = 65_535
          @granted = WHOLE_WINDOW
          @untold = 0
          @output = "".b
          greet
        end

        # @return [Array<Stream>] of which one side at least has not ended
        def streams = @streams.values

        # @return [Boolean]
        def idle? = @streams.empty?

        # @return [Boolean] whether the peer has greeted us
        def greeted? = @greeted || false

        # @return [Boolean] whether a head has begun and not ended
        def assembling? = !@block.nil?

        # @return [Boolean] whether no request can be made any more
        def ending? = @draining || @leaving || false

        # @return [Boolean]
        def congested? = @output.bytesize >= CONGESTED

        # @return [Boolean] whether something of a body could be sent, on one stream or another
        def open? = @window.positive? && !congested?

        # @param bytes [String] received
        # @yield now and then, between two frames
        # @return [void]
        # @raise [Violation] after which the connection is of no more use; the output tells the peer why
        def receive(bytes)
          @reader << bytes
          count = 0
          while (frame = @reader.next)
            take(frame)
            yield if block_given? && ((count += 1) % TURN).zero?
          end
        rescue Violation => e
          go_away(e.code)
          raise
        end

        # Takes no more requests; those that are under way go on.
        # @return [void]
        def drain
          go_away(:no_error) unless @draining
          @draining = true
        end

        # Tells the peer that we can't go on.
        # @return [void]
        def give_up = go_away(:internal_error)

        # @return [Integer] bytes that the peer takes now
        def room(stream) = [stream.window, @window].min

        # @param fields [Array<Array(String, String)>] with :status, or trailers
        # @param last [Boolean]
        # @return [void]
        def send_head(stream, fields, last:)
          block = @hpack.encode(fields)
          first = block.slice!(0, @peer.frame)
          flags = (last ? Frames::END_STREAM : 0) | (block.empty? ? Frames::END_HEADERS : 0)
          put(Frames::HEADERS, flags, stream.id, first)
          until block.empty?
            part = block.slice!(0, @peer.frame)
            put(Frames::CONTINUATION, block.empty? ? Frames::END_HEADERS : 0, stream.id, part)
          end
          end_answer(stream) if last
        end

        # @param bytes [String] no more than there is {room} for
        # @param last [Boolean]
        # @return [void]
        def send_data(stream, bytes, last:)
          stream.window -= bytes.bytesize
          @window -= bytes.bytesize
          @calm.earn(2) # its WINDOW_UPDATEs
          at = 0
          while bytes.bytesize - at > Frames::LARGEST
            put(Frames::DATA, 0, stream.id, bytes.byteslice(at, Frames::LARGEST))
            at += Frames::LARGEST
          end
          put(Frames::DATA, last ? Frames::END_STREAM : 0, stream.id, at.zero? ? bytes : bytes.byteslice(at..))
          end_answer(stream) if last
        end

        # Somebody has taken these bytes of a request's body: as many more may come.
        # @param count [Integer]
        # @return [void]
        def taken(stream, count)
          return unless @streams.key?(stream.id)

          stream.held -= count
          grant(count)
          stream.untold += count
          return if stream.untold < WINDOW / 2 || !stream.receiving?

          put(Frames::WINDOW_UPDATE, 0, stream.id, [stream.untold].pack("N"))
          stream.granted += stream.untold
          stream.untold = 0
        end

        # @param error [Symbol] of {Frames::ERRORS}
        # @return [void]
        def reset(stream, error)
          return unless @streams.key?(stream.id)

          put(Frames::RST_STREAM, 0, stream.id, [Frames.code(error)].pack("N"))
          forget(stream)
          remember(stream.id)
          @host.reset(stream)
        end

        def inspect = "#<#{self.class} #{@streams.size} streams>"

        private

        def greet
          put(Frames::SETTINGS, 0, 0,
              [Settings::STREAMS, STREAMS, Settings::WINDOW, WINDOW, Settings::LIST, @largest].pack("nN" * 3))
          put(Frames::WINDOW_UPDATE, 0, 0, [WHOLE_WINDOW - 65_535].pack("N"))
        end

        def put(type, flags, id, payload = "") = @output << Frames.build(type, flags, id, payload)

        def go_away(error) = put(Frames::GOAWAY, 0, 0, [@last, Frames.code(error)].pack("NN"))

        def take(frame)
          raise broken(:protocol_error, "its first frame is none of SETTINGS", "§3.4") unless greeted? || settings?(frame)
          if @block && (frame.type != Frames::CONTINUATION || frame.id != @block.id)
            raise broken(:protocol_error, "another frame in the middle of a header block", "§6.10")
          end

          handler = HANDLERS[frame.type]
          handler ? __send__(handler, frame) : @calm.spend
        end

        def settings?(frame) = frame.type == Frames::SETTINGS && !frame.flag?(Frames::ACK)

        # The whole answer is sent. A peer that is still sending its request is told that nobody wants the rest (§8.1).
        def end_answer(stream)
          stream.end_sending
          @calm.earn(Calm::ANSWER)
          return forget(stream) unless stream.receiving?

          put(Frames::RST_STREAM, 0, stream.id, [Frames.code(:no_error)].pack("N"))
          remember(stream.id)
          forget(stream)
        end

        def forget(stream)
          @streams.delete(stream.id)
          grant(stream.held)
          stream.held = 0
        end

        def remember(id)
          @gone.shift if @gone.size >= REMEMBERED
          @gone[id] = true
        end

        def grant(count)
          @untold += count
          return if @untold < WHOLE_WINDOW / 2

          put(Frames::WINDOW_UPDATE, 0, 0, [@untold].pack("N"))
          @granted += @untold
          @untold = 0
        end
      end
    end
  end
end
