# frozen_string_literal: true

require "plait/protocols/http1"

module Plait
  class Server
    module HTTP2
      # A connection to the core, for one stream at a time: its request goes there as HTTP/1.1, and the answer comes back as
      # fast as the peer takes it. So a request by HTTP/2 has the same bounds, and finds the same env, as any other.
      class Slot
        # Bytes read at once, and times that it is read before others get their turn.
        PIECE = 16 * 1024
        TURN = 4
        READABLE, WRITABLE = 1, 4
        # Names of fields that are remembered as HTTP/2 has them: nil is what is about one connection only (RFC 9113 §8.2.2).
        NAMES = Protocols::HTTP2::Fields::CONNECTION.to_h { |name| [name, nil] }.freeze
        MOST_NAMES = 64
        # Seconds in which the core does not close a connection that it keeps.
        FRESH = 0.01
        ENDS = [SystemCallError, IOError].freeze
        # Of what the core sends: it comes from the app.
        LIMITS = Protocols::HTTP1::Limits.new(body: nil, head: (1 << 24) - 1, headers: 1 << 16)

        attr_reader :io
        # @return [Stream, nil] of the request that it carries
        attr_reader :stream
        # @return [Integer, nil] what it is armed for in the reactor
        attr_accessor :armed

        def initialize(io, session)
          @io = io
          @session = session
          @parser = Protocols::HTTP1::ResponseParser.new(limits: LIMITS)
          @pending = "".b
          @names = NAMES.dup
          @bytes = String.new(capacity: PIECE, encoding: Encoding::BINARY)
        end

        def begin(stream, head)
          @stream = stream
          @chunked = head.length.nil? && stream.receiving?
          @unpaid = 0
          @piece = @head = @trailers = @left = @held_at = nil
          @ended = @reusable = @answered = @bodiless = false
          @parser.start(method: head.request_method)
          put(head.to_http1)
          @unheard = @deaf
        end

        # @param bytes [String] of the request's body
        def send_data(bytes)
          @unpaid += bytes.bytesize
          @chunked ? put(bytes.bytesize.to_s(16), "\r\n", bytes, "\r\n") : put(bytes)
        end

        # The request has come to its end.
        def finish(trailers) = (put(Protocols::HTTP1::Serializer.last_chunk(trailers)) if @chunked)

        # Does what can be done without waiting.
        def move
          flush
          TURN.times { break unless advance && receive }
        end

        # @return [Integer] what it waits for; 0: for the peer
        def interest
          wants = @pending.empty? ? 0 : WRITABLE
          @stream.nil? || open? ? wants | READABLE : wants
        end

        # @return [Boolean] whether the answer waits for the peer to take it
        def held? = !@stream.nil? && !open?

        # @param now [Float] monotonic seconds
        # @return [Boolean] whether the peer has taken nothing of the answer for so long
        def stalled?(now, seconds)
          return @held_at = nil unless held? && seconds && !@session.congested?

          now - (@held_at ||= now) > seconds
        end

        # @return [Boolean] whether all of the answer was sent, or none will come any more
        def ended? = @ended

        # @return [Boolean] whether it can carry another request
        def reusable? = @ended && @reusable && @pending.empty?

        # Gives its stream up.
        # @param now [Float] monotonic seconds
        def leave(now)
          @left_at = now
          @stream = nil
        end

        def close = @io.close

        # @return [Boolean] whether the core has closed it while it carried no stream
        def stale?(now) = now - @left_at > FRESH && @io.read_nonblock(1, exception: false) != :wait_readable

        def inspect = "#<#{self.class} #{@stream.inspect}>"

        private

        # Whether there is room for what comes next.
        def open? = @piece.nil? && !@ended && !@session.congested? && (@head.nil? || @session.room(@stream).positive?)

        def put(*parts)
          return pay if @deaf

          parts.each { |part| @pending << part }
          flush
        end

        def flush
          until @pending.empty?
            sent = @io.write_nonblock(@pending, exception: false)
            return if sent == :wait_writable

            sent == @pending.bytesize ? @pending.clear : @pending.replace(@pending.byteslice(sent..))
          end
          pay
        rescue *ENDS
          # It wants no more of the request: its answer may have come nevertheless.
          @deaf = true
          @pending.clear
          pay
        end

        # The core has taken it: the peer may send as much again.
        def pay
          return unless @unpaid&.positive?

          count, @unpaid = @unpaid, 0
          @session.taken(@stream, count) if @stream
        end

        def receive
          return false unless @stream && open?

          got = @io.read_nonblock(PIECE, @bytes, exception: false)
          return false if got == :wait_readable

          got ? @parser.feed(got) : @parser.finish
          advance
        rescue *ENDS
          cut
          false
        end

        # Hands on what has come.
        # @return [Boolean] whether more may come
        def advance
          send_piece
          while @stream && @piece.nil? && !@ended && (event = @parser.next_event)
            take_event(event)
          end
          !@stream.nil? && @piece.nil? && !@ended
        rescue RemoteProtocolError
          cut
          false
        end

        def take_event(event)
          case event
          when :head then take_head(@parser.head)
          when :data then (@piece = @parser.data) && send_piece
          when :trailers then @trailers = @parser.trailers
          when :done then finish_answer
          when :closed then cut
          end
        end

        def take_head(head)
          return send_interim(head) if head.interim?

          @head = head
          @left = head.content_length
          @bodiless = head.framing == :none || @left&.zero?
          @session.send_head(@stream, fields_of(head), last: @bodiless)
        end

        # 101 is not to be had by HTTP/2 (§8.6).
        def send_interim(head) = (@session.send_head(@stream, fields_of(head), last: false) unless head.status == 101)

        def fields_of(head)
          fields = [[":status", head.status.to_s]]
          head.to_a.each do |name, value|
            name = name_of(name)
            fields << [name, value] if name
          end
          fields
        end

        # @return [String, nil] nil: it stays here
        def name_of(name)
          @names.fetch(name) do
            @names = NAMES.dup if @names.size >= MOST_NAMES
            lower = name.downcase
            @names[name] = NAMES.fetch(lower, lower)
          end
        end

        def send_piece
          return unless @piece && @stream

          size = [@session.room(@stream), @piece.bytesize].min
          return unless size.positive?

          part = size == @piece.bytesize ? @piece : @piece.byteslice(0, size)
          @piece = size == @piece.bytesize ? nil : @piece.byteslice(size..)
          @left -= size if @left
          @held_at = nil
          @answered = @left&.zero?
          @session.send_data(@stream, part, last: @answered)
        end

        def finish_answer
          @ended = true
          @reusable = @head.persistent? && !@stream.receiving? && !@deaf
          return if @bodiless || @answered
          return @session.send_head(@stream, @trailers.map { |name, value| [name.downcase, value] }, last: true) if @trailers

          @session.send_data(@stream, "", last: true)
        end

        # The core has closed it before the end of the answer, or before it has seen the request: then it can be made again.
        def cut
          @ended = true
          @session.reset(@stream, @unheard ? :refused_stream : :internal_error) if @stream
        end
      end
    end
  end
end
