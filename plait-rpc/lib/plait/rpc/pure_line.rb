# frozen_string_literal: true

require_relative "pure_line/roles"
require_relative "pure_wire"

module Plait
  module RPC
    # One socket and its users, in Ruby: calls and their answers, the reader for all, and the bytes still to be sent. The twin of
    # NativeLine (rb_rpc_line.h) for JRuby. All times are monotonic seconds; nil: no limit. All values are packed.
    # {Connection} documents the methods that it only forwards.
    #
    # It asks its connection for errors (`complaint`) and for room (`room?`, `place?`), and reports requests (`arrived`), bytes
    # that the peer does not take (`unsent_left`, `find_drainer`), and its end (`ended`).
    class PureLine
      include Roles

      # Seconds at rest after which a connection is checked before its next use: it may have ended unnoticed.
      REST = 0.001
      # Bytes gathered for one send; raising it sends larger pieces later.
      GATHERED = 64 * 1024
      # Receives in a row before other threads and fibers get their turn, and reads in a row that look for an end.
      TURN = 16

      # @return [Exception, String, nil] why it is over
      attr_reader :over

      # @param io [BasicSocket, Io::TLS::Socket] connected; closed by the line
      # @param room [Integer] unsent bytes from which callers wait before they add more
      # @param served [Boolean] only {#read_available} reads, and no caller waits for the peer to read
      # @param raw [Boolean] see {Protocols::MessagePackRPC::Writer}
      # @param _ [Hash] options of NativeLine alone
      def initialize(io, parser, connection, room:, served:, raw:, **_)
        @wire = PureWire.new(io, parser)
        @parser = parser
        @writer = Protocols::MessagePackRPC::Writer.new(raw: raw)
        @connection = connection
        @room = room
        @served = served
        @lock = Lock.new
        @last_id = -1
        @touched = Deadline.now
      end

      def io = @wire.io

      def usable? = @over.nil? && !foreign?

      # @return [Boolean] whether it belongs to the parent of a fork
      def foreign? = @wire.foreign?

      # Sends a request and waits for its answer: the future is cancelled or late if the caller leaves before.
      # @return [Boolean] false: the time was up before anything was sent
      # @raise [ConnectionClosed, RemoteProtocolError] it is over
      def exchange(future, params, limit)
        look_after_rest
        return false unless await_room(limit)

        stay(Waiter.new(limit, future)) { enter_call(future, params) }
        true
      ensure
        drop(future, future.limit && Deadline.now >= future.limit) unless future.settled?
      end

      # Sends a request.
      # @param flush [Boolean] false: the caller soon calls {#send_off}
      # @return [Boolean, nil] false: the time was up before anything was sent; nil: before all of it was
      # @raise (see #exchange)
      def call(future, params, limit, flush) = say(limit, flush) { enter_call(future, params) }

      # Sends requests that were not flushed.
      # @return [Boolean, nil] nil: the time was up before
      def send_off(limit) = foreign? || send_out(limit) { true }

      # Sends a notification.
      # @return [Boolean, nil] as {#call}
      # @raise (see #exchange)
      def notify(method, params, limit) = say(limit) { @writer.notification(method, params) }

      # Waits until the future is settled.
      # @return [Boolean] false: the time was up before
      # @raise (see #exchange)
      def await(future, limit)
        check_open if foreign?
        stay(Waiter.new(limit, future))
      end

      # Drops the answer when it comes.
      # @param late [Boolean] whether the time is up, else the call is cancelled
      # @return [Boolean] whether the answer was still to come
      def drop(future, late)
        exclusively do
          next false if future.settled?

          @calls&.delete(future.id)
          settle(future, late ? :late : :cancelled)
          true
        end
      end

      # Calls the connection's `due` when the future is settled.
      # @return [Boolean] false: it is settled, or belongs to the parent of a fork
      def follow(future)
        return false if foreign?

        exclusively { future.settled? ? false : future.followed = true }
      end

      # Takes received bytes, if there is no reader.
      def look
        return if foreign? || @served

        TURN.times do
          before = received
          exclusively { receive_what_is_there unless @over || @reader }
          break if received == before
        end
        hand_on_arrived if @arrived
      end

      # @param id [Integer] of the peer's request
      # @param flush [Boolean] false: the caller soon calls {#flush}
      def answer(id, result, flush)
        return if foreign? || @over

        await_room(nil) if flush && !@served
        add_answer(flush) { @writer.response(id, result) }
      end

      # @param data [String, Array<String>, nil] sent in the place of the result
      def refuse(id, error, data, flush) = (add_answer(flush) { @writer.error(id, error, *data) } unless foreign?)

      def flush = foreign? || exclusively { flush_now }

      # Waits until all bytes that were added before this call are sent.
      def drain(limit = nil)
        return true.tap { @connection.unsent_left } if @served

        await_sent(exclusively { said }, limit)
      end

      def unsent = @wire.unsent + @writer.bytesize
      def sending? = false
      def sent = @wire.sent
      def received = @wire.received
      def congested? = @unsent ? unsent > @room : false
      def pending = @calls&.size || 0
      def buffered? = @wire.buffered?
      def idle? = pending.zero? && !@unsent && @parser.idle?

      # Ends it: calls without an answer fail at once. In a fork only the descriptor is closed.
      def finish(reason)
        return exclusively { end_all(reason) } unless foreign?

        @over = reason
        @wire.close
      end

      def read_available
        return :closed if @over || foreign?

        state = take_in
        @over ? :closed : state
      end

      private

      def check_open
        raise @connection.complaint("belongs to the parent process") if foreign?
        raise @connection.complaint(@over) if @over
      end

      def look_after_rest
        check_open
        now = Deadline.now
        look if @reader.nil? && now - @touched > REST
        @touched = now
        check_open
      end

      # @yield under the lock, to write a message
      def say(limit, flush = true) # rubocop:disable Style/OptionalBooleanParameter -- as it is passed on
        look_after_rest
        return false unless await_room(limit)

        send_out(limit) do
          check_open
          yield
          flush || unsent >= GATHERED
        end
      end

      # What others say behind these bytes does not count: the peer may have acted on these long before.
      # @yieldreturn [Boolean] under the lock: whether to send what was said so far
      # @return [Boolean, nil] nil: the time was up before all of it was sent
      def send_out(limit)
        mark = nil
        done = exclusively do
          flush = yield
          mark = said
          flush ? flush_soon : true
        end
        done || await_sent(mark, limit) || nil
      end

      def await_sent(mark, limit)
        return true.tap { @connection.unsent_left } if @served

        stay(Waiter.new(limit) { @wire.sent >= mark })
      end

      def add_answer(flush)
        done = exclusively do
          next true if @over

          yield
          flush || unsent > @room ? flush_soon : true
        end
        drain unless done
      end

      # ---- under the lock

      # @return [Integer] bytes, ever
      def said = @wire.pushed + @writer.bytesize

      def end_all(reason)
        return if @over

        @over = reason
        @unsent = false
        @farewell = true
        fail_calls(reason)
        @sleeping&.each_key(&:call)
        @wire.shut
        release
      end

      def fail_calls(reason)
        calls, @calls = @calls, nil
        sent = @wire.sent
        calls&.each_value { |future| settle(future, future.sent?(sent) ? :lost : :unsent, reason) }
      end

      def enter_call(future, params)
        id = free_id
        @writer.request(id, future.method_name, params)
        (@calls ||= {})[id] = future
        future.entered(id, said)
      end

      # Ids have 32 bits, and one may still be in use when all have been given once.
      def free_id
        id = @last_id
        loop do
          id = (id + 1) & 0xffff_ffff
          return @last_id = id unless @calls&.key?(id)
        end
      end

      # Sends, unless the reader is about to.
      # @return [Boolean] whether the caller need not wait
      def flush_soon = (@reader && !@reading) || @intake || flush_now

      # @return [Boolean] whether all is sent
      def flush_now
        return true if @over || (@writer.empty? && !@unsent)

        @wire.push(@writer.take) unless @writer.empty?
        sent = @wire.transmit
        return give_up_sending if sent.nil?

        @unsent = !sent
        @sleeping&.each_key { |waiter| waiter.call unless waiter.future }
        sent
      end

      # The peer takes nothing more, but its last bytes may be here: the reader finds them, and then the end.
      def give_up_sending
        @unsent = false
        @wire.clear
        @reader ? @wire.shut : end_all(@wire.failure)
        true
      end

      def receive_what_is_there
        TURN.times do
          received = @wire.receive
          return end_of_input if received.nil?
          return if received.zero?

          take_events
        end
      rescue RemoteProtocolError => e
        end_all(e)
      end

      def take_events
        while (event = @parser.next_event)
          case event
          when :response then take_answer
          when :large then look_at_large
          when :request, :notification then (@arrived ||= []) << [@parser.id, @parser.method_name, @parser.params]
          end
        end
      rescue LimitExceeded => e
        excuse(e) ? retry : raise
      end

      # An answer over a limit is lost for its call alone; a request is handed on with the error for its arguments.
      def excuse(error)
        request = [@parser.id, @parser.method_name, error] unless @parser.kind == :response
        return false unless @parser.excuse
        return (@arrived ||= []) << request if request

        future = @calls&.delete(@parser.id)
        settle(future, :lost, error) if future
        true
      end

      def take_answer
        future = @calls&.delete(@parser.id) or return
        error = @parser.error
        error ? settle(future, :refused, [error, @parser.result]) : settle(future, :answered, @parser.result)
      end

      # An answer to a call that was dropped is not kept.
      def look_at_large = (@parser.discard if @parser.kind == :response && !@calls&.key?(@parser.id))

      def end_of_input
        return end_all(@wire.failure) if @wire.failure

        @parser.finish.next_event
        end_all(EOFError.new("the end of the input"))
      rescue RemoteProtocolError => e
        end_all(e)
      end

      # ---- not under the lock

      # @return [Boolean] whether there was room for another message in time
      def await_room(limit) = !@unsent || unsent <= @room || stay(Waiter.new(limit) { unsent <= @room })

      # One thread at a time, so that the first request is handed on first; no interrupt comes between two of them.
      def hand_on_arrived
        Thread.handle_interrupt(NEVER) do
          next unless exclusively { !@handing_on && (@handing_on = true) }

          hand_on_in_order
        end
      end

      def hand_on_in_order
        while (arrived = exclusively { next_arrived })
          @connection.arrived(*arrived)
        end
        done = true
      ensure
        exclusively { @handing_on = false } unless done
      end

      # @return [Array, nil] nil: another thread may hand on what comes next
      def next_arrived
        return @arrived.shift if @arrived&.any?

        @arrived = nil
        @handing_on = false
        nil
      end

      # ---- of a server, which reads by {#read_available}

      def take_in
        @intake = true
        hand_on || receive_portion
      ensure
        @intake = false
        @connection.unsent_left unless flush
      end

      def receive_portion
        received = exclusively { @over ? 0 : @wire.receive }
        return exclusively { end_of_input } && :closed if received.nil?

        hand_on || (@parser.idle? ? :idle : :partial)
      end

      # @return [Symbol, nil] :full
      def hand_on
        while (event = @held || @parser.next_event)
          @held = event
          return :full unless take(event)

          @held = nil
        end
      rescue LimitExceeded => e
        return :full unless @parser.kind == :response || @connection.place?

        excused?(e) ? retry : exclusively { end_all(e) }
      rescue RemoteProtocolError => e
        exclusively { end_all(e) }
      end

      def excused?(error)
        return exclusively { excuse(error) } if @parser.kind == :response

        id, name = @parser.id, @parser.method_name
        @parser.excuse && (@connection.arrived(id, name, error) || true)
      end

      # @return [Boolean] whether there was room for it
      def take(event)
        case event
        when :request, :notification
          @connection.place? && (@connection.arrived(@parser.id, @parser.method_name, @parser.params) || true)
        when :response then exclusively { take_answer } || true
        when :large then @parser.kind == :response ? exclusively { look_at_large } || true : @connection.room?
        else true
        end
      end
    end
    private_constant :PureLine
  end
end
