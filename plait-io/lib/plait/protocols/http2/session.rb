# frozen_string_literal: true

require_relative "../hpack/compressor"
require_relative "../hpack/decompressor"
require_relative "frames"
require_relative "stream"

module Plait
  module Protocols
    module HTTP2
      # One side of a connection (RFC 9113), see {Client} and {Server}: bytes in, calls of its host and bytes out. It does no IO.
      #
      # It calls the host: `data(stream, bytes)`, `finish(stream, trailers)`, `reset(stream, reason)` (the stream is over;
      # reason: the peer's error, a {Violation}, or nil when the host has reset it) and `granted(stream)` (more may be sent on
      # it; of nil: on all).
      class Session
        # Streams at once.
        STREAMS = 128
        # Streams that we have reset, and for which frames may still be on their way.
        REMEMBERED = 1024
        # Frames after which others may have their turn: many small frames may come in one piece.
        TURN = 64
        # Bytes of unsent output at which streams stop sending; raising it costs memory for each slow peer.
        CONGESTED = 128 * 1024
        # Bytes of the connection's window at its beginning (§6.9.2).
        FIRST_WINDOW = 65_535
        # Times the size of a list of fields that the peer knows: a larger one ends the connection; one in between can be
        # refused with an error of its own.
        MARGIN = 4

        # @return [String] binary: bytes to send; the sender takes them from the front
        attr_reader :output

        # @param head [Integer] bytes of a head that the host takes
        # @param clock [#call] returns monotonic seconds
        def initialize(host, head:, clock:)
          @host = host
          @largest = head
          @reader = FrameReader.new(preface)
          @compressor = HPACK::Compressor.new
          @decompressor = HPACK::Decompressor.new(head * MARGIN)
          @calm = Calm.new(clock)
          @peer = Settings.new
          @streams = {}
          @gone = {}
          @window = FIRST_WINDOW
          @granted = whole_window
          @untold = @last = 0
          @output = "".b
          greet
        end

        # @return [Integer] streams under way
        def size = @streams.size

        # @return [Boolean] whether there is no stream
        def idle? = @streams.empty?

        # @return [Boolean] whether the peer has sent its settings
        def greeted? = @greeted || false

        # @return [Boolean] whether a head is incomplete
        def assembling? = !@block.nil?

        # @return [Boolean] whether the peer takes no more requests, or we don't
        def ending? = @draining || @leaving || false

        # @return [Boolean] whether the peer takes no more requests
        def leaving? = @leaving || false

        # @return [Boolean] whether more is waiting to be sent than is good
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
        def drain = (go_away(:no_error) unless @draining)

        # Tells the peer that we can't go on.
        def give_up = go_away(:internal_error)

        # @return [Integer] bytes that the peer takes now
        def room(stream) = [stream.window, @window].min

        # @param fields [Array<Array(String, String)>] in lower case, pseudo fields first; or trailers
        def send_head(stream, fields, last:)
          block = @compressor.encode(fields)
          flags = last ? Frames::END_STREAM : 0
          if block.bytesize <= @peer.frame
            put(Frames::HEADERS, flags | Frames::END_HEADERS, stream.id, block)
          else
            send_parts(block, flags, stream.id)
          end
          end_sending(stream) if last
        end

        # @param bytes [String] no more than there is {room} for
        def send_data(stream, bytes, last:)
          size = bytes.bytesize
          stream.window -= size
          @window -= size
          @calm.send_data(size)
          at = 0
          while size - at > Frames::LARGEST
            put(Frames::DATA, 0, stream.id, bytes.byteslice(at, Frames::LARGEST))
            at += Frames::LARGEST
          end
          put(Frames::DATA, last ? Frames::END_STREAM : 0, stream.id, at.zero? ? bytes : bytes.byteslice(at..))
          end_sending(stream) if last
        end

        # The host has taken these bytes of a body: as many more may come.
        def taken(stream, count)
          return unless @streams.key?(stream.id)

          stream.untold += count
          return if stream.untold < window / 2 || !stream.receiving?

          put(Frames::WINDOW_UPDATE, 0, stream.id, [stream.untold].pack("N"))
          stream.granted += stream.untold
          stream.untold = 0
        end

        # @param error [Symbol] of {Frames::ERRORS}
        # @param reason [Violation, nil] for the host
        def reset(stream, error, reason = nil)
          return unless @streams.key?(stream.id)

          put_reset(stream.id, error)
          forget(stream)
          @host.reset(stream, reason)
        end

        def inspect = "#<#{self.class} #{@streams.size} streams>"

        private

        def put(type, flags, id, payload = "") = @output << Frames.build(type, flags, id, payload)

        def put_reset(id, error)
          put(Frames::RST_STREAM, 0, id, [Frames.code(error)].pack("N"))
          @gone.shift if @gone.size >= REMEMBERED
          @gone[id] = true
        end

        # @param settings [Array<Integer>] number and value, in turn
        def put_settings(*settings)
          put(Frames::SETTINGS, 0, 0, settings.pack("nN" * (settings.size / 2)))
          put(Frames::WINDOW_UPDATE, 0, 0, [whole_window - FIRST_WINDOW].pack("N"))
        end

        def go_away(error)
          put(Frames::GOAWAY, 0, 0, [@last, Frames.code(error)].pack("NN"))
          @draining = true
        end

        def send_parts(block, flags, id)
          parts = (0...block.bytesize).step(@peer.frame).map { |at| block.byteslice(at, @peer.frame) }
          put(Frames::HEADERS, flags, id, parts.shift)
          last = parts.pop
          parts.each { |part| put(Frames::CONTINUATION, 0, id, part) }
          put(Frames::CONTINUATION, Frames::END_HEADERS, id, last)
        end

        def take(frame)
          raise broken(:protocol_error, "its first frame is none of SETTINGS", "§3.4") unless @greeted || settings?(frame)
          if @block && (frame.type != Frames::CONTINUATION || frame.id != @block.id)
            raise broken(:protocol_error, "another frame in the middle of a header block", "§6.10")
          end

          handler = Frames::NAMES[frame.type]
          handler ? __send__(handler, frame) : @calm.spend
        end

        def settings?(frame) = frame.type == Frames::SETTINGS && !frame.flag?(Frames::ACK)

        def forget(stream)
          @streams.delete(stream.id)
          grant(stream.held)
          stream.held = 0
        end

        # More may come on the connection.
        def grant(count)
          @untold += count
          return if @untold < whole_window / 2

          put(Frames::WINDOW_UPDATE, 0, 0, [@untold].pack("N"))
          @granted += @untold
          @untold = 0
        end

        # ---- messages: HEADERS, CONTINUATION and DATA ----

        def headers(frame)
          frame.stream_only
          check_stream(frame.id)
          @block = HeaderBlock.new(frame, largest_block)
          end_block if frame.flag?(Frames::END_HEADERS)
        end

        def continuation(frame)
          raise broken(:protocol_error, "CONTINUATION without HEADERS", "§6.10") unless @block

          @calm.spend
          @block.add(frame.payload)
          end_block if frame.flag?(Frames::END_HEADERS)
        end

        # Also of a stream that is over: later blocks refer to it.
        def end_block
          block, @block = @block, nil
          fields = decode(block.bytes)
          stream = @streams[block.id]
          return stranger(block, fields) unless stream
          return fault(stream, :stream_closed, "a head behind the end of its stream", "§5.1") unless stream.receiving?

          take_head(stream, fields, block.last?)
        end

        def decode(block)
          @decompressor.decode(block)
        rescue HPACK::TooLarge => e
          raise broken(:protocol_error, e.message, "§10.5.1")
        rescue HPACK::Error => e
          raise broken(:compression_error, "a header block that can't be read: #{e.message}", "§4.3")
        end

        def data(frame)
          frame.stream_only
          size = frame.payload.bytesize
          @granted -= size
          raise broken(:flow_control_error, "more than the window of the connection", "§6.9.1") if @granted.negative?

          body = frame.unpadded
          stream = @streams[frame.id]
          return discard(frame, size) unless stream
          return fault(stream, :stream_closed, "a body behind its end", "§5.1") && grant(size) unless stream.receiving?

          receive_body(stream, body, size, frame.flag?(Frames::END_STREAM))
        end

        def receive_body(stream, body, size, last)
          stream.granted -= size
          stream.received += body.bytesize
          hold(stream, size)
          return fault(stream, :flow_control_error, "more than the stream's window", "§6.9.1") if stream.granted.negative?
          return wrong_length(stream) if stream.wrong_length?

          body.empty? ? @calm.spend : @host.data(stream, body)
          taken(stream, size - body.bytesize) if size > body.bytesize
          end_receiving(stream, []) if last
        end

        # Until the host has taken them, they count.
        def hold(stream, size) = stream.held += size

        def end_receiving(stream, trailers)
          return unless @streams.key?(stream.id) # the host has reset it meanwhile

          stream.end_receiving
          stream.wrong_length? ? wrong_length(stream) : @host.finish(stream, trailers)
        end

        def wrong_length(stream) = fault(stream, :protocol_error, "a body of another length than Content-Length", "§8.1.1")

        # Of a stream that we have reset it may have been on its way.
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
          @calm.spend(2)
          stream = @streams[frame.id] or return
          itself = (frame.payload.unpack1("N") & 0x7fff_ffff) == frame.id
          fault(stream, :protocol_error, "a stream that depends on itself", "§5.3.1") if itself
        end

        def rst_stream(frame)
          frame.stream_only
          frame.sized(4)
          idle(frame.id)
          stream = @streams[frame.id] or return @calm.spend
          forget(stream)
          @host.reset(stream, Frames.error(frame.payload.unpack1("N")))
          @calm.spend(Calm::RESET)
        end

        def window_update(frame)
          frame.sized(4)
          @calm.window_update
          more = frame.payload.unpack1("N") & 0x7fff_ffff
          return widen(more) if frame.id.zero?

          idle(frame.id)
          stream = @streams[frame.id] or return
          return fault(stream, :protocol_error, "WINDOW_UPDATE of 0", "§6.9") if more.zero?
          return fault(stream, :flow_control_error, "a window too large", "§6.9.1") if over?(stream.window += more)

          @host.granted(stream)
        end

        def widen(more)
          raise broken(:protocol_error, "WINDOW_UPDATE of 0", "§6.9") if more.zero?
          raise broken(:flow_control_error, "a window too large", "§6.9.1") if over?(@window += more)

          @host.granted(nil)
        end

        def over?(window) = window > Settings::LARGEST_WINDOW

        def settings(frame)
          frame.connection_only
          @greeted = true
          @calm.spend
          return frame.sized(0) if frame.flag?(Frames::ACK)

          before = @peer.window
          @peer.apply(frame.payload)
          @compressor.limit = @peer.table_size if @peer.table_size
          shift_windows(@peer.window - before)
          put(Frames::SETTINGS, Frames::ACK, 0)
          @host.granted(nil)
        end

        # §6.9.2
        def shift_windows(difference)
          @streams.each_value do |stream|
            raise broken(:flow_control_error, "a window too large", "§6.9.2") if over?(stream.window += difference)
          end
        end

        def ping(frame)
          frame.connection_only
          frame.sized(8)
          @calm.spend
          put(Frames::PING, Frames::ACK, 0, frame.payload) unless frame.flag?(Frames::ACK)
        end

        # @return [Array(Integer, Integer)] the last stream that the peer has looked at, and its error
        def goaway(frame)
          frame.connection_only
          frame.sized(8) if frame.payload.bytesize < 8

          @leaving = true
          frame.payload.unpack("NN")
        end

        def push_promise(_frame) = raise(broken(:protocol_error, "PUSH_PROMISE, which is not allowed", "§8.4"))

        # ---- mistakes of the peer ----

        def idle(id)
          raise broken(:protocol_error, "a frame on stream #{id}, which was never opened", "§5.1") if unopened?(id)
        end

        # A mistake of the peer's, on that stream alone. It costs as much as a stream that the peer resets, and is as cheap to it.
        def fault(stream, code, what, section)
          reset(stream, code, broken(code, what, section))
          @calm.spend(Calm::RESET)
          true
        end

        def broken(code, what, section) = Violation.new(code, what, section)
      end
    end
  end
end
