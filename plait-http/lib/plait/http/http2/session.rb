# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require_relative "engine"

module Plait
  module HTTP
    module HTTP2
      # Lets the trailers of one of the gem's streams be what they are: the gem wants each value of Trailer to be the name of
      # one, as it is written, where it is a list, in any case, and only a hint (RFC 9110 §6.6.2). Should a later gem not ask
      # for this, it does nothing.
      module AnnouncedTrailers
        private

        def verify_trailers(frame)
          stream_error(:protocol_error, msg: "trailers that do not end the stream") unless end_stream?(frame)
        end
      end

      # Keeps the window of one of the gem's connections right: the gem adds to it what a peer grants to a stream that has
      # ended meanwhile, which it may (RFC 9113 §5.1), so that more would be sent than may be. Should a later gem not ask for
      # this, it does nothing.
      module OwnWindow
        private

        def process_window_update(frame:, **)
          super if frame[:stream].zero?
        end
      end

      # Lets the window of one of the gem's streams close while its body is not taken: the gem would open it again at once, and
      # a body that is taken slowly would fill the memory. Should a later gem not ask for this, it only does that.
      module HeldWindow
        private

        def calculate_window_update(_size)
          error(:flow_control_error) if local_window.negative?
        end
      end

      # Looks at the heads of frames (RFC 9113 §4.1) before the gem does, which waits for all of a frame before it finds that
      # it is too large: of a peer that speaks something else it would wait for megabytes. A peer that only keeps us busy (RFC
      # 9113 §10.5) is distinguished from one that answers.
      class FrameGuard
        HEAD = 9
        PRIORITY, SETTINGS, WINDOW_UPDATE = 2, 4, 8
        # DATA and HEADERS, unless they are empty.
        FRUITFUL = [0, 1].freeze
        # Frames in a row that bring nothing of an answer. An hour of a ping a second are fewer.
        FRUITLESS = 10_000
        # PRIORITY frames in all: no server needs them (§5.3.2), and the gem keeps a stream for each.
        PRIORITIES = 1_000
        private_constant :HEAD, :PRIORITY, :SETTINGS, :WINDOW_UPDATE, :FRUITFUL, :FRUITLESS, :PRIORITIES

        # @param largest [Integer] bytes of a frame, its head not counted
        def initialize(largest)
          @largest = largest
          @head = String.new(capacity: HEAD, encoding: Encoding::BINARY)
          @left = @fruitless = @priorities = 0
        end

        # @param bytes [String] received
        # @raise [RemoteProtocolError]
        def check(bytes)
          at = 0
          at += @left.zero? ? take_head(bytes, at) : pass(bytes.bytesize - at) while at < bytes.bytesize
        end

        private

        # @return [Integer] bytes
        def pass(count)
          passed = [@left, count].min
          @left -= passed
          passed
        end

        # @return [Integer] bytes
        def take_head(bytes, at)
          part = bytes.byteslice(at, HEAD - @head.bytesize)
          @head << part
          begin_frame if @head.bytesize == HEAD
          part.bytesize
        end

        def begin_frame
          high, low, type = @head.unpack("CnC")
          @left = (high << 16) | low
          raise broken("it began with #{@head.inspect}, which is no SETTINGS frame", "§3.4") unless @started || type == SETTINGS
          raise broken("a frame of #{@left} bytes, where #{@largest} are allowed", "§4.2") if @left > @largest

          count(type)
          @started = true
          @head.clear
        end

        # Of a long body that goes out there is a WINDOW_UPDATE for every few bytes: it says nothing for or against the peer.
        def count(type)
          return if type == WINDOW_UPDATE

          @priorities += 1 if type == PRIORITY
          @fruitless = FRUITFUL.include?(type) && @left.positive? ? 0 : @fruitless + 1
          raise broken("more than #{FRUITLESS} frames in a row that bring nothing", "§10.5") if @fruitless > FRUITLESS
          raise broken("more than #{PRIORITIES} PRIORITY frames", "§10.5") if @priorities > PRIORITIES
        end

        def broken(what, section)
          RemoteProtocolError.new("the peer broke HTTP/2: #{what}", rule: :http2_frame, section: "RFC 9113 #{section}")
        end
      end
      private_constant :AnnouncedTrailers, :OwnWindow, :HeldWindow, :FrameGuard

      # A client's side of one connection: bytes in, changes of {Call}s and bytes out. It does no IO and has no lock.
      class Session
        # Bytes that the peer may send before we say that we have taken them, on each stream and on all together.
        WINDOW = 1024 * 1024
        # The window of the connection is no setting: it begins with 65,535 (RFC 9113 §6.9.2). The gem believes it to be as
        # large as a stream's, so it does not see this frame.
        WIDEN = ["\0\0\x04\x08\0\0\0\0\0".b, [WINDOW - 65_535].pack("N")].join.freeze
        # RST_STREAM with CANCEL (§6.4, §7).
        CANCEL = 8
        # Streams at once, before the peer's settings have come: it would refuse more, and mostly sends its settings before the
        # first answer.
        FIRST_STREAMS = 1
        # Streams at once, however many the peer allows.
        MOST_STREAMS = 256
        # Seconds after which nothing more can come on a stream that we have reset.
        LINGER = 30
        # Bytes of output at which no call adds to it.
        CONGESTED = 256 * 1024
        # Bytes to be sent with which a peer is given up that asks us for more and more words (pings, above all) and hears none.
        DEAF = 1024 * 1024
        # After this one a client's ids are used up (§5.1.1).
        LAST_ID = (1 << 31) - 3
        private_constant :WIDEN, :CANCEL, :FIRST_STREAMS, :MOST_STREAMS, :LINGER, :CONGESTED, :DEAF, :LAST_ID

        # @return [String] binary: bytes to send; the sender removes them from the front
        attr_reader :output
        # @return [Hash{Call => true}] calls for which something has changed; the reader clears it
        attr_reader :touched

        def initialize
          @output = String.new(encoding: Encoding::BINARY)
          @calls = {}
          @abandoned = {}
          @touched = {}.compare_by_identity
          @client = Client.new(settings_enable_push: 0, settings_initial_window_size: WINDOW,
                               settings_max_concurrent_streams: MOST_STREAMS).extend(OwnWindow)
          @guard = FrameGuard.new(@client.local_settings.settings_max_frame_size)
          @client.on(:frame) { |bytes| @output << bytes }
          @client.once(:frame_received) { @greeted = true }
          @client.on(:goaway) { |last, error, words| go_away(last, error, words) }
          @client.send_connection_preface
          @output << WIDEN
        end

        # @return [Array<Call>] with a stream
        def calls = @calls.values

        # @return [Boolean] whether no new call can be made: the peer goes away, or too much here lingers on
        def draining? = @draining || @client.closed? || @abandoned.size > MOST_STREAMS / 4

        # @return [Boolean] whether the peer has said that it takes no more requests here
        def sent_away? = @draining || false

        # @return [Boolean] whether the peer has said something, its settings first (§3.4)
        def greeted? = @greeted || false

        # @return [Boolean] whether a stream is free
        def place? = !draining? && @client.active_stream_count < streams

        # @return [Boolean] whether more is waiting to be sent than is good
        def congested? = @output.bytesize >= CONGESTED

        # @param bytes [String] received
        # @raise [RemoteProtocolError] after which the connection is of no more use
        def receive(bytes)
          @guard.check(bytes)
          @client << bytes
          raise RemoteProtocolError.new(deaf, rule: :http2_flood, section: "RFC 9113 §10.5") if @output.bytesize > DEAF
        rescue Engine::Error::Error => e
          kind = e.class.name.split("::").last
          raise RemoteProtocolError.new("the peer broke HTTP/2: #{e.message} (#{kind})", rule: :http2, section: "RFC 9113 §5.4.1")
        end

        # @param fields [Array<Array(String, String)>] see {Fields.of}
        # @param last [Boolean] whether there is no body
        # @return [true]
        def open(call, fields, last:)
          forget_abandoned
          stream = @client.new_stream
          stream.extend(HeldWindow) if call.streamed
          call.stream = stream
          @calls[stream.id] = call
          listen(stream)
          stream.headers(fields, end_stream: last)
          @draining = true if stream.id >= LAST_ID
          call.opened
          true
        end

        # @return [Integer] bytes that the peer takes now, so that the gem holds none back
        def room(call) = [call.stream.remote_window, @client.remote_window].min

        # @param bytes [String] no more than there is {room} for
        def send_data(call, bytes, last:) = call.stream.data(bytes, end_stream: last)

        # The caller has taken these bytes of a streamed body: as many more may come.
        def taken(call, count)
          call.untold += count
          return if call.untold < WINDOW / 2 || call.answer.complete?

          call.stream.window_update(call.untold)
          call.untold = 0
        end

        # Resets the stream of a call whose caller has gone. The gem must not know: it forgets a stream that it has reset, and
        # takes further frames on it for an error of the connection. To the gem the stream goes on.
        def abandon(call)
          stream = call.stream
          return unless stream && @calls.delete(stream.id)

          @output << ["\0\0\x04\x03\0".b, [stream.id, CANCEL].pack("NN")].join
          @abandoned[stream.id] = [stream, Deadline.now]
        end

        def inspect = "#<#{self.class} #{@calls.size} calls>"

        def say_goodbye
          @client.goaway unless @client.closed?
        rescue Engine::Error::Error
          nil
        end

        private

        def streams
          allowed = @client.remote_settings.settings_max_concurrent_streams
          [allowed, @greeted ? MOST_STREAMS : FIRST_STREAMS].min
        end

        # A block of the gem's must not raise: it would take it for an error of the connection.
        def listen(stream)
          id = stream.id
          stream.on(:headers) do |pairs|
            stream.extend(AnnouncedTrailers) if pairs.any? { |name, _| name == "trailer" }
            deliver(id) { |answer| answer.head(pairs) }
          end
          stream.on(:data) { |bytes| deliver(id) { |answer| answer.data(bytes) } }
          stream.on(:half_close) { deliver(id, &:finish) if stream.state == :half_closed_remote }
          stream.on(:close) { |error| close(id, error, stream.closed) }
        end

        def deliver(id)
          call = @calls[id] or return
          @touched[call] = true
          yield call.answer unless call.over?
          call.received
        rescue RemoteProtocolError => e
          call.fail(call.blame(e))
        end

        # Errors that the gem finds it also raises.
        def close(id, error, way)
          @abandoned.delete(id)
          if error.nil? then deliver(id, &:finish)
          elsif way == :remote_rst then reset(id, error)
          end
          @calls.delete(id)
        end

        # After the whole answer the peer may say that it wants no more of the request (RFC 9113 §8.1).
        def reset(id, error)
          call = @calls[id] or return
          @touched[call] = true
          return if call.answer.complete?

          call.fail(call.closed("the peer has reset it (#{error.to_s.upcase})#{advice(error)}", retry_safe: safe?(error)))
        end

        def deaf = "the peer broke HTTP/2: it has us answer, and takes none of the answers: #{@output.bytesize} bytes wait for it"

        # §8.7: nothing was done.
        def safe?(error) = %i[refused_stream http_1_1_required].include?(error)

        def advice(error)
          case error
          when :refused_stream then ": nothing of it was done"
          when :http_1_1_required then ": ask without http2: true"
          end
        end

        # §6.8
        def go_away(last, error, words)
          @draining = true
          said = "the peer goes away (#{error.to_s.upcase}#{": #{words.inspect[0, 200]}" unless words.to_s.empty?})"
          @calls.each do |id, call|
            next if id <= last

            @touched[call] = true
            call.fail(call.closed("#{said}, and nothing of it was done", retry_safe: true))
          end
        end

        def forget_abandoned
          moment = Deadline.now
          @abandoned.values.each { |stream, since| stream.cancel if moment - since > LINGER } # rubocop:disable Style/HashEachMethods -- it changes
        end
      end
    end
  end
end
