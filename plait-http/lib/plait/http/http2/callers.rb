# frozen_string_literal: true

require "plait/io/channel"
require "plait/values/errors"

module Plait
  module HTTP
    module HTTP2
      # Those who wait on one connection, and do its work meanwhile: one of them reads for all, one waits until what is to be
      # sent can be, the others sleep. There is no thread and no fiber besides theirs: an idle connection is a descriptor.
      #
      # Whoever leaves, however he does (an answer, a timeout, a kill, a cancellation), gives his work to one who sleeps.
      class Callers
        # Times that one reads without waiting, before others get their turn.
        TURN = 16
        # Interrupts are held back where the session is between two states. Nothing in there waits.
        NEVER = { Object => :never }.freeze
        # Whether one reads and writes => what he waits for.
        MODES = { [true, true] => :read_write, [true, false] => :read, [false, true] => :write }.freeze
        private_constant :TURN, :NEVER, :MODES

        # @yieldparam call [Call]
        # @yieldparam reason [String, Exception] why the connection is of no more use
        # @yieldreturn [Exception] for that call
        def initialize(channel, session, &complaint)
          @channel = channel
          @session = session
          @complaint = complaint
          @lock = Mutex.new
          @sleeping = {}.compare_by_identity
          @queue = []
        end

        def over? = !@over.nil?

        # Waits until the block says that it is done, which runs under the lock whenever something has changed.
        # @yieldreturn [Boolean]
        # @raise [Error] that has befallen the call, or its lateness
        def await(call, &done)
          rounds = 0
          until (mode = step(call, &done)) == :done
            @channel.wait(mode, call.patience) if mode
            sleep(0) if mode.nil? && ((rounds += 1) % TURN).zero?
          end
        rescue IOError => e
          raise @complaint.call(call, e)
        ensure
          locked { hand_on(call) }
        end

        # Waits for a stream, and opens it in the order in which they came.
        # @yieldreturn [true] when it has opened it
        def open(call)
          locked { @queue << call }
          await(call) do
            raise @complaint.call(call, "takes no more requests: the peer goes away") if @session.draining?

            @queue.first.equal?(call) && @session.place? && yield && @queue.shift
          end
        end

        # A call that is over, or that nobody waits for any more.
        def leave(call)
          locked do
            @queue.delete(call)
            @session.abandon(call) unless @over
            push
            hand_on(call)
          end
        end

        # Looks at a connection that nobody waits on: takes what is there, answers to pings.
        # @return [Boolean] whether it is of no more use
        def look
          locked do
            nil while @reader.nil? && !@over && take_what_is_there
            !@over.nil? || @session.draining?
          end
        end

        # @yield under the lock, when it is not over; what the session has to send then goes out
        # @return [Object] the block's value
        def change
          locked { yield.tap { push } unless @over }
        end

        # The end, for everybody on it.
        def close(reason) = locked { finish(reason) }

        # In the child of a fork: what its parent's threads were doing is half done here.
        def abandon
          @over = "is the parent process's"
          @channel.abandon
        end

        private

        def locked(&block) = Thread.handle_interrupt(NEVER) { @lock.synchronize(&block) }

        # @return [Symbol, nil] :done, what to wait for (:read, :write, :read_write), or nil: look again
        def step(call, &done)
          @lock.synchronize do
            ready = Thread.handle_interrupt(NEVER) { ready?(call, &done) }
            next ready if ready == :done
            next if ready == :again

            work_for(call) || sleep_on(call)
          end
        end

        def ready?(call)
          call.check!
          # A whole answer is had even from a connection that is over.
          return push || :done if (@over.nil? || call.answer.complete?) && yield
          raise @complaint.call(call, @over) if @over

          call.check_time!
          push
          :again if reader?(call) && take_what_is_there
        end

        def reader?(call) = @reader.nil? || @reader.equal?(call)

        # @return [Boolean] whether there was anything
        def take_what_is_there
          bytes = @channel.receive or return false
          @session.receive(bytes)
          push
          wake_touched
          true
        rescue RemoteProtocolError, EOFError, *Io::Channel::BREAKS => e
          push
          finish(e)
          true
        end

        # Sends what can be sent now. Who does not listen any more may still have something to say.
        # @return [nil]
        def push
          congested = @session.congested?
          @channel.transmit(@session.output) unless @session.output.empty? || @deaf
          @session.output.clear if @deaf
          wake(&:sending?) if congested && !@session.congested?
          nil
        rescue *Io::Channel::BREAKS
          @deaf = true
          @session.output.clear
          nil
        end

        def work_for(call)
          @reader ||= call
          @writer = nil if @writer.equal?(call)
          @writer ||= call unless @session.output.empty?
          MODES[[@reader.equal?(call), @writer.equal?(call)]]
        end

        def sleep_on(call)
          @sleeping[call] = true
          call.changed.wait(@lock, call.patience)
          nil
        ensure
          @sleeping.delete(call)
        end

        # Gives its work to one who sleeps.
        def hand_on(call)
          put_down(call)
          return release if @over

          @sleeping.each_key.first&.changed&.signal if idle?
          @queue.first&.changed&.signal
          # The peer goes away, and everybody has his answer.
          finish("is closed: the peer goes away") if @session.draining? && @session.calls.empty?
        end

        def put_down(call)
          @reader = nil if @reader.equal?(call)
          @writer = nil if @writer.equal?(call)
        end

        # @return [Boolean] whether there is work that nobody does
        def idle? = @reader.nil? || (@writer.nil? && !@session.output.empty?)

        def wake_touched
          @session.touched.each_key { |call| call.changed.signal }
          @session.touched.clear
          wake(&:sending?)
          @queue.first&.changed&.signal
        end

        def wake(&which) = @sleeping.each_key.select(&which).each { |call| call.changed.signal }

        def finish(reason)
          return if @over

          @session.say_goodbye
          push
          @over = reason
          @sleeping.each_key { |call| call.changed.signal }
          @reader || @writer ? @channel.shut : release
        end

        # The last one who waits on the descriptor closes it.
        def release
          return if @reader || @writer || @released

          @released = true
          @channel.close
        end
      end
    end
  end
end
