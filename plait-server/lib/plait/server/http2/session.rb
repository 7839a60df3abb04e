# frozen_string_literal: true

require_relative "frames"
require_relative "request_head"
require_relative "stream"

module Plait
  class Server
    module HTTP2
      # A server's side of one connection (RFC 9113): bytes in, calls of its host and bytes out. It does no IO.
      #
      # It calls the host: `request(stream, head)` ({RequestHead}), `data(stream, bytes)`, `finish(stream, trailers)`,
      # `reset(stream)` (its answer is no longer wanted) and `granted(stream)` (more may be sent on it; of nil: on all).
      class Session
        # Streams at once.
        STREAMS = 128
        # Bytes that the peer may send on a stream, and on all together, before the app has read them.
        WINDOW = 256 * 1024
        WHOLE_WINDOW = 1024 * 1024
        # Streams that were reset by us, of which frames may still be on their way.
        REMEMBERED = 1024
        # Frames after which others may have their turn: they may be many in what is received at once, and bring little.
        TURN = 64
        # Bytes of unsent output at which streams stop sending; raising it costs memory for each slow peer.
        CONGESTED = 128 * 1024
        # By the number of their type.
        HANDLERS = Frames::NAMES

        # @return [String] binary: bytes to send; the sender takes them from the front
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

        def idle? = @streams.empty?

        # @return [Boolean] whether the peer has greeted us
        def greeted? = @greeted || false

        # @return [Boolean] whether a head is incomplete
        def assembling? = !@block.nil?

        # @return [Boolean] whether no request can be made any more
        def ending? = @draining || @leaving || false

        def congested? = @output.bytesize >= CONGESTED

        # @return [Boolean] whether something of a body could be sent, on one stream or another
        def open? = @window.positive? && !congested?

        # @param bytes [String] received
        # @yield now and then, between two frames
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

        # Takes no more requests; running ones go on.
        def drain
          go_away(:no_error) unless @draining
          @draining = true
        end

        # Tells the peer that we can't go on.
        def give_up = go_away(:internal_error)

        # @return [Integer] bytes that the peer takes now
        def room(stream) = [stream.window, @window].min

        # @param fields [Array<Array(String, String)>] with :status, or trailers
        # @param last [Boolean]
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

        # The core has taken these bytes of a request's body: as many more may come.
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

        # The whole answer is sent. A peer that is still sending its request gets a RST_STREAM for the rest (§8.1).
        def end_answer(stream)
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

        # ---- requests: HEADERS, CONTINUATION and DATA ----

        def headers(frame)
          frame.stream_only
          raise broken(:protocol_error, "a request on stream #{frame.id}", "§5.1.1") if frame.id.even?

          fragment, dependency = frame.fragment
          @block = HeaderBlock.new(frame.id, fragment, last: frame.flag?(Frames::END_STREAM), itself: dependency == frame.id,
                                                       largest: @largest)
          end_block if frame.flag?(Frames::END_HEADERS)
        end

        def continuation(frame)
          raise broken(:protocol_error, "CONTINUATION without HEADERS", "§6.10") unless @block

          @calm.spend
          @block.add(frame.payload)
          end_block if frame.flag?(Frames::END_HEADERS)
        end

        # Whatever becomes of it, it has to be decoded: later ones refer to it.
        def end_block
          block, @block = @block, nil
          fields = @hpack.decode(block.bytes)
          stream = @streams[block.id]
          if stream then trailers(stream, fields, block.last?)
          elsif block.id > @last then open_stream(block, fields)
          else
            ended(block.id)
          end
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
          head.to_http1 unless head.connect? # what is malformed is so before there is a stream
          stream = Stream.new(block.id, @peer.window, WINDOW)
          stream.length = head.length
          stream.end_receiving if block.last?
          raise RequestHead::Malformed if stream.wrong_length?

          @streams[block.id] = stream
          @host.request(stream, head)
          @host.finish(stream, []) if block.last?
        end

        def refuse(id, error)
          put(Frames::RST_STREAM, 0, id, [Frames.code(error)].pack("N"))
          remember(id)
          @calm.spend(Calm::RESET)
        end

        def trailers(stream, fields, last)
          return fault(stream, :stream_closed) unless stream.receiving?
          return fault(stream, :protocol_error) if !last || fields.any? { |name, _| name.start_with?(":") }

          end_request(stream, RequestHead.check(fields))
        rescue RequestHead::Malformed
          fault(stream, :protocol_error)
        end

        def data(frame)
          frame.stream_only
          size = frame.payload.bytesize
          @granted -= size
          raise broken(:flow_control_error, "more than the window of the connection", "§6.9.1") if @granted.negative?

          body = frame.unpadded
          stream = @streams[frame.id]
          return discard(frame, size) unless stream
          return fault(stream, :stream_closed) && grant(size) unless stream.receiving?

          receive_body(stream, body, size, frame.flag?(Frames::END_STREAM))
        end

        def receive_body(stream, body, size, last)
          stream.granted -= size
          stream.received += body.bytesize
          stream.held += size
          return fault(stream, :flow_control_error) if stream.granted.negative?
          return fault(stream, :protocol_error) if stream.wrong_length?

          @calm.spend if body.empty?
          @host.data(stream, body) unless body.empty?
          taken(stream, size - body.bytesize)
          end_request(stream, []) if last
        end

        def end_request(stream, trailers)
          return unless @streams.key?(stream.id) # the host has reset it meanwhile

          stream.end_receiving
          return fault(stream, :protocol_error) if stream.wrong_length?

          @host.finish(stream, trailers)
        end

        # Of a stream that was reset by us it may have been on its way.
        def discard(frame, size)
          grant(size)
          ended(frame.id)
        end

        def ended(id)
          idle(id)
          @calm.spend
          return if @gone.key?(id)

          raise broken(:stream_closed, "a frame on stream #{id}, which has ended", "§5.1")
        end

        # ---- frames about streams, windows and the connection ----

        def priority(frame)
          frame.stream_only
          frame.sized(5)
          @calm.spend
          itself = (frame.payload.unpack1("N") & 0x7fff_ffff) == frame.id
          fault(@streams[frame.id], :protocol_error) if itself && @streams.key?(frame.id)
        end

        def rst_stream(frame)
          frame.stream_only
          frame.sized(4)
          idle(frame.id)
          stream = @streams[frame.id] or return @calm.spend
          forget(stream)
          @host.reset(stream)
          @calm.spend(Calm::RESET)
        end

        def window_update(frame)
          frame.sized(4)
          @calm.spend
          more = frame.payload.unpack1("N") & 0x7fff_ffff
          return widen(more) if frame.id.zero?

          idle(frame.id)
          stream = @streams[frame.id] or return
          return fault(stream, :protocol_error) if more.zero?
          return fault(stream, :flow_control_error) if (stream.window += more) > Settings::LARGEST_WINDOW

          @host.granted(stream)
        end

        def widen(more)
          raise broken(:protocol_error, "WINDOW_UPDATE with 0", "§6.9") if more.zero?
          raise broken(:flow_control_error, "a window too large", "§6.9.1") if (@window += more) > Settings::LARGEST_WINDOW

          @host.granted(nil)
        end

        def settings(frame)
          frame.connection_only
          @greeted = true
          @calm.spend
          return frame.sized(0) if frame.flag?(Frames::ACK)

          before = @peer.window
          @peer.apply(frame.payload)
          @hpack.limit_table(@peer.table_size) if @peer.table_size
          shift_windows(@peer.window - before)
          put(Frames::SETTINGS, Frames::ACK, 0)
        end

        # §6.9.2
        def shift_windows(difference)
          return if difference.zero?

          @streams.each_value do |stream|
            next if (stream.window += difference) <= Settings::LARGEST_WINDOW

            raise broken(:flow_control_error, "a window too large", "§6.9.2")
          end
          @host.granted(nil)
        end

        def ping(frame)
          frame.connection_only
          frame.sized(8)
          @calm.spend
          put(Frames::PING, Frames::ACK, 0, frame.payload) unless frame.flag?(Frames::ACK)
        end

        def goaway(frame)
          frame.connection_only
          frame.sized(8) if frame.payload.bytesize < 8

          @leaving = true
        end

        def push_promise(_frame) = raise(broken(:protocol_error, "PUSH_PROMISE of a client", "§8.4"))

        # ---- mistakes of the peer ----

        def idle(id)
          raise broken(:protocol_error, "a frame on stream #{id}, which was never opened", "§5.1") if id > @last || id.even?
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
