# frozen_string_literal: true

module Plait
  module HTTP
    class PureWire
      # The receiving half: bytes become events, and events a response.
      module Answers
        # Seconds for a peer to say that the body may follow; then it follows (RFC 9110 §10.1.1).
        CONTINUE_SECONDS = 1.0
        # Bytes reserved for a body of which nothing has come: its length is only the peer's word, and Ruby 4.0 writes zeros
        # into all that it reserves.
        RESERVED = 1024 * 1024
        # Bytes of a receive that may have left some behind: a record of TLS has no more, and the bytes of a plain
        # connection comes in a larger piece.
        FULL = 16 * 1024

        private

        def expect_head(method, upgrade)
          @request = { method: method, upgrade: upgrade }
          @parser.start(**@request)
          @final = @answered = @continued = @deaf = @ended = false
          @repairs = 0
          @broken = nil
          @heard = 0
          @failure = nil
        end

        # @return [Response] with its body
        def whole
          response = receive_head
          body = room_for(@parser.head)
          until (event = next_event) == :done
            body << @parser.data if event == :data
            response.trailers = @parser.trailers if event == :trailers
          end
          response.body = body
          finish(response)
        end

        def room_for(head)
          length = head.framing == :length ? head.content_length : 0
          String.new(capacity: [length, RESERVED].min, encoding: Encoding::BINARY)
        end

        # @return [Response] its body still to be read
        def opened
          @response = response = receive_head
          become(:streaming)
          end_piecewise if over_already?(@parser.head)
          response
        end

        def over_already?(head)
          bodiless = %i[none tunnel].include?(head.framing) || (head.framing == :length && head.content_length.zero?)
          bodiless && next_event == :done
        end

        def next_piece
          case next_event
          when :data then @parser.data
          when :done then end_piecewise
          else
            @response.trailers = @parser.trailers
            next_piece
          end
        end

        def end_piecewise
          finish(@response)
          @read_out = true
          @response = nil
        end

        # Bytes that are left belong to no request: no later answer is to be trusted.
        def finish(response)
          response.durations = [*response.durations.first(2), Deadline.now - @first_at]
          head = @parser.head
          return response.tap { become(:tunnel) } if head.framing == :tunnel

          note_keeping(head)
          usable = head.persistent? && @repairs.zero? && !@parser.pardoned? && @uses_left.positive? && !@login
          become(usable && !@stopped && nothing_left? ? :idle : :closed)
          response
        end

        def note_keeping(head)
          @uses_left = [@uses_left - 1, head.kept_times].compact.min
          @kept_for = HTTP1::Persistence.margin(head.kept_for) || @kept_for
          @kept_until = Deadline.now + @kept_for
        end

        def nothing_left? = @parser.rest.empty? && (@drained || !@stream.stale?)

        # @return [Response] without its body
        def receive_head
          receive until final_head_there?
          response_of(@parser.head)
        end

        # Interim ones (1xx) are passed over: the time for the first byte goes on.
        def final_head_there?
          until @final
            event = parsed or return false
            raise failed(@failure) if event == :closed

            @final = !@parser.head.interim?
            @continued ||= @parser.head.status == 100
            @answered = @final
          end
          true
        end

        def response_of(head)
          response = PureResponse.new(head.bytes, head.status, head.version, head.reason, !head["content-encoding"].nil?)
          response.phases = @phases unless @reported
          @reported = true
          response.durations = [@sent_at - @started, [@first_at - @sent_at, 0.0].max, 0.0]
          response
        end

        # @return [Symbol] waits until there is one
        def next_event
          receive until (event = parsed)
          event
        end

        # Only the parser's errors name the peer: a body that is sent may raise such errors too.
        def parsed
          @broken ? parsed_repaired(@broken) : @parser.next_event
        rescue RemoteProtocolError => e
          raise named(e) if @broken || @final || !@limits.lenient? || !HTTP1::Repair::RULES.include?(e.rule)

          @broken = e
          retry
        end

        # @return [Symbol, nil] nil: the end of the broken head has not come
        def parsed_repaired(error)
          rest = @parser.rest
          bytes = HTTP1::Repair.call(rest)
          raise error if bytes == false || (bytes.nil? && (@ended || rest.bytesize > @limits.head))
          return if bytes.nil?
          raise HTTP1::Rules.error(:interim_limit, 0, @limits) if (@repairs += 1) > @limits.interim + 1

          parser = HTTP1::ResponseParser.new(limits: @limits).start(**@request).feed(bytes)
          parser.finish if @ended
          event = parser.next_event
          @parser = parser
          @broken = nil
          event
        end

        def receive
          phase = @answered ? :read : :first_byte
          in_time(phase)
          fill(limit(phase)) { |at| raise too_late(phase, at) }
        end

        # @param at [Float, nil] monotonic seconds
        # @yieldparam at [Float] when nothing has come by then
        def fill(at)
          count = @stream.fill(deadline: at && Deadline.new(at))
        rescue ReadTimeout
          yield at
        rescue ConnectionClosed => e
          raise @state == :closed ? closed_here : failed(@failure || e.cause || e)
        else
          take(count)
        end

        # The parser gets the bytes.
        #
        # @param count [Integer, nil] bytes; nil: the input has ended
        def take(count)
          raise closed_here if @state == :closed
          return end_of_input unless count

          @first_at = Deadline.now unless @received
          @received = @answered = true
          @drained = count < FULL
          @parser.feed(String.new(capacity: count, encoding: Encoding::BINARY) << @stream.buffer)
          @stream.consume(@stream.buffer.bytesize)
          count
        end

        def end_of_input
          @ended = true
          @parser.finish
          0
        end

        # @return [Boolean] whether the answer has come instead of the leave to go on
        def answered_at_once?
          patience = [@sent_at + CONTINUE_SECONDS, @ends].compact.min
          until final_head_there? || @continued
            in_time(:first_byte)
            fill(patience) { return false unless patience == @ends && raise(too_late(:first_byte, @ends)) }
          end
          @final
        end
      end
    end
  end
end
