# frozen_string_literal: true

require_relative "pure_line/roles"
require_relative "pure_wire"
require_relative "../protocols/messagepack_rpc"
require "plait/values/deadline"
require "plait/values/errors"
require "plait/values/uninterruptible"

module Plait
  module RPC
    # What goes on between one socket and those who share it, in Ruby: calls and their answers, who reads for whom, what is still
    # to be sent. Twin of NativeLine (rb_rpc_line.h); for TLS, and for JRuby.
    #
    # Of its connection it asks for the errors it raises (`complaint`), and tells it what has come (`room?`, `place?`, `arrived`),
    # that something is left to be sent and nobody does it (`unsent_left`, `find_drainer`), and the end (`ended`).
    class PureLine
      include Roles

      # Seconds after which a connection that nobody has used is looked at before it is used again.
      REST = 0.001
      # Bytes that are gathered for one send.
      GATHERED = 64 * 1024
      # Looks in a row while something comes: an end of the connection may be behind it.
      LOOKS = 16
      private_constant :REST, :GATHERED, :LOOKS

      # @return [Exception, String, nil] why it is over
      attr_reader :over

      # @param io [BasicSocket, Io::TLS::Socket] connected; the line's own from now on
      # @param room [Integer] bytes unsent from which on who has more to say has to wait
      # @param served [Boolean] only {#read_available} reads, and nobody waits for the peer to read
      # @param raw [Boolean] see {Protocols::MessagePackRPC::Writer}
      # @param _ [Hash] what only its twin can make use of
      def initialize(io, parser, connection, room:, served:, raw:, **_)
        @wire = PureWire.new(io, parser)
        @parser = parser
        @writer = Protocols::MessagePackRPC::Writer.new(raw: raw)
        @connection = connection
        @room = room
        @served = served
        @lock = Mutex.new
        @last_id = -1
        @touched = Deadline.now
      end

      # @return [BasicSocket, Io::TLS::Socket]
      def io = @wire.io

      # @return [Boolean] whether calls can be made
      def usable? = @over.nil? && !foreign?

      # @return [Boolean] whether it is another process's: of the parent of a fork
      def foreign? = @wire.foreign?

      # @!group Calls

      # Sends a request and stays until its future is settled: cancelled, if this is left early, or late.
      # @param params [String, Array<String>] packed
      # @param limit [Float, nil] monotonic seconds
      # @return [Boolean] false: the time was up before anything was said
      # @raise [ConnectionClosed, RemoteProtocolError] it is over
      def exchange(future, params, limit)
        look_after_rest
        return false unless await_room(limit)

        stay(Member.new(limit, future)) { enter_call(future, params) }
        true
      ensure
        drop(future, future.limit && Deadline.now >= future.limit) unless future.settled?
      end

      # Sends a request.
      # @param params [String, Array<String>] packed
      # @param limit [Float, nil] monotonic seconds, for it to be sent
      # @param flush [Boolean] false: who calls sees to it that {#send_off} is called soon
      # @return [Boolean, nil] false: the time was up before anything was said; nil: before all of it was sent
      # @raise (see #exchange)
      def call(future, params, limit, flush) = say(limit, flush) { enter_call(future, params) }

      # Sends what was said without being flushed.
      # @param limit [Float, nil] monotonic seconds
      # @return [Boolean, nil] nil: the time was up before
      def send_off(limit) = foreign? || exclusively { flush_soon } || drain(limit) || nil

      # Sends a notification.
      # @param method [String, Symbol]
      # @param params [String, Array<String>] packed
      # @param limit [Float, nil] monotonic seconds, for it to be sent
      # @return [Boolean, nil] as {#call}
      # @raise (see #exchange)
      def notify(method, params, limit) = say(limit) { @writer.notification(method, params) }

      # Stays until the future is settled.
      # @param limit [Float, nil] monotonic seconds
      # @return [Boolean] false: the time was up before
      # @raise (see #exchange)
      def await(future, limit)
        check_open if foreign?
        stay(Member.new(limit, future))
      end

      # Has nobody wait for the answer any more.
      # @param late [Boolean] whether because its time is up
      # @return [Boolean] whether it was still to come
      def drop(future, late)
        exclusively do
          next false if future.settled?

          @calls&.delete(future.id)
          settle(future, late ? :late : :cancelled)
          true
        end
      end

      # Has the connection's `due` called when the future is settled.
      # @return [Boolean] false: it is settled, or of the parent of a fork
      def follow(future)
        return false if foreign?

        exclusively { future.settled? ? false : future.followed = true }
      end

      # Takes what is there, where nobody reads.
      def look
        return if foreign? || @served

        LOOKS.times do
          before = received
          exclusively { receive_what_is_there unless @over || @reader }
          break if received == before
        end
        hand_on_arrived if @arrived
      end

      # @!group Answers

      # @param id [Integer] of the peer's request
      # @param result [String, Array<String>] packed
      # @param flush [Boolean] false: who calls sees to it that {#flush} is called soon
      def answer(id, result, flush)
        return if foreign? || @over

        await_room(nil) if flush && !@served
        add_answer(flush) { @writer.response(id, result) }
      end

      # @param id [Integer] of the peer's request
      # @param error [String, Array<String>] packed
      # @param data [String, Array<String>, nil] packed
      # @param flush [Boolean] see {#answer}
      def refuse(id, error, data, flush)
        add_answer(flush) { @writer.error(id, error, *data) } unless foreign?
      end

      # Sends what the peer takes, without waiting.
      # @return [Boolean] whether that is all
      def flush = foreign? || exclusively { flush_now }

      # Waits until all is sent that was to be sent up to here.
      def drain(limit = nil)
        return true.tap { @connection.unsent_left } if @served

        mark = exclusively { @wire.pushed + @writer.bytesize }
        stay(Member.new(limit) { @wire.sent >= mark })
      end

      # @!group State

      # @return [Integer] bytes that wait for the peer to read
      def unsent = @wire.unsent + @writer.bytesize

      # @return [Boolean] whether somebody is about to send what there is, and will see to what is left
      def sending? = false

      # @return [Integer] bytes given to the kernel, ever
      def sent = @wire.sent

      # @return [Integer] bytes taken from it, ever
      def received = @wire.received

      # @return [Boolean] whether that is so much that nothing should be added
      def congested? = @unsent ? unsent > @room : false

      # @return [Integer] calls without an answer
      def pending = @calls&.size || 0

      # @return [Boolean] whether nothing is under way, in either direction
      def idle? = pending.zero? && !@unsent && @parser.idle?

      # Ends it: calls that have no answer fail at once. In a fork our descriptor is closed, and the connection goes on.
      # @param reason [Exception, String]
      def finish(reason)
        return exclusively { end_all(reason) } unless foreign?

        @over = reason
        @wire.close
      end

      # Receives in a row, before others get their turn.
      TURN = 16
      private_constant :TURN

      # Receives what is there, 64 KiB at most (1 MiB of a large string), and hands it on. Never waits. One at a time.
      # @return [Symbol] :idle, nothing is half received; :partial, something is; :full, there is no room: what is here is
      #   handed on by the next call; :closed
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

      # A connection that was at rest may have ended unnoticed: then the next call would be lost.
      def look_after_rest
        check_open
        now = Deadline.now
        look if @reader.nil? && now - @touched > REST
        @touched = now
        check_open
      end

      # @yield under the lock, to write it
      # @return [Boolean, nil]
      def say(limit, flush = true) # rubocop:disable Style/OptionalBooleanParameter -- as it is passed on
        look_after_rest
        return false unless await_room(limit)

        done = exclusively do
          check_open
          yield
          flush || unsent >= GATHERED ? flush_soon : true
        end
        done || drain(limit) || nil
      end

      def add_answer(flush)
        done = exclusively do
          next true if @over

          yield
          flush || unsent > @room ? flush_soon : true
        end
        drain unless done
      end

      # Under the lock.
      def end_all(reason)
        return if @over

        @over = reason
        @unsent = false
        @farewell = true
        fail_calls(reason)
        @sleeping&.each_key(&:wake)
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
        future.entered(id, @wire.pushed + @writer.bytesize)
      end

      # Ids are 32 bits long, and one may still be in use when all have been given once.
      def free_id
        id = @last_id
        loop do
          id = (id + 1) & 0xffff_ffff
          return @last_id = id unless @calls&.key?(id)
        end
      end

      # Sends, unless somebody is about to.
      # @return [Boolean] whether nothing is left to do for who called
      def flush_soon = (@reader && !@reading) || @intake || flush_now

      # Sends what the peer takes.
      # @return [Boolean] whether that is all
      def flush_now
        return true if @over || (@writer.empty? && !@unsent)

        @wire.push(@writer.take) unless @writer.empty?
        sent = @wire.transmit
        return give_up_sending if sent.nil?

        @unsent = !sent
        @sleeping&.each_key { |member| member.wake unless member.future }
        sent
      end

      # The peer doesn't listen any more, but may still have said something: who reads will find that, and then the end.
      def give_up_sending
        @unsent = false
        @wire.clear
        @reader ? @wire.shut : end_all(@wire.failure)
        true
      end

      # Waits until there is room for another frame.
      # @return [Boolean] whether there was in time
      def await_room(limit) = !@unsent || unsent <= @room || stay(Member.new(limit) { unsent <= @room })

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
          take_event(event)
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

      def take_event(event)
        case event
        when :response then take_answer
        when :large then look_at_large
        when :request, :notification then (@arrived ||= []) << [@parser.id, @parser.method_name, @parser.params]
        end
      end

      # (Not under the lock, nor to be interrupted: who has begun hands on what he takes.) One at a time, so that what came
      # first is handed on first.
      def hand_on_arrived
        Uninterruptible.run do
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

      # What comes after the last one is for somebody else to hand on.
      # @return [Array, nil]
      def next_arrived
        return @arrived.shift if @arrived&.any?

        @arrived = nil
        @handing_on = false
        nil
      end

      def take_answer
        future = @calls&.delete(@parser.id) or return
        error = @parser.error
        error ? settle(future, :refused, [error, @parser.result]) : settle(future, :answered, @parser.result)
      end

      # An answer that nobody waits for any more is not kept.
      def look_at_large
        @parser.discard if @parser.kind == :response && !@calls&.key?(@parser.id)
      end

      def end_of_input
        return end_all(@wire.failure) if @wire.failure

        @parser.finish.next_event
        end_all(EOFError.new("the end of the input"))
      rescue RemoteProtocolError => e
        end_all(e)
      end

      def take_in
        @intake = true
        hand_on || receive_portion
      ensure
        @intake = false
        @connection.unsent_left unless flush
      end

      # @return [Symbol] as {#read_available}
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
        when :large then take_large
        else true
        end
      end

      def take_large
        return @connection.room? unless @parser.kind == :response

        exclusively { look_at_large }
        true
      end
    end
    private_constant :PureLine
  end
end
