# frozen_string_literal: true

require_relative "../pure_wire"

module Plait
  module RPC
    class PureLine
      # A thread or fiber that stays at a line until its future is settled, or its block is true. Others call and ask it under
      # the line's lock.
      class Waiter < Lock::Sleeper
        # @return [Float, nil] monotonic seconds until which it stays
        attr_reader :limit
        attr_reader :future
        # @return [Boolean] whether it has given its roles back
        attr_accessor :left

        def initialize(limit, future = nil, &satisfied)
          super()
          @limit = limit
          @future = future
          @satisfied = satisfied
          @left = false
          @thread = Thread.current
          @home = Fiber.current
        end

        # @return [Boolean] whether it can't go on before the current code ends: it is on the same thread, below a signal
        #   handler, or in a fiber whose loop can't run
        def below? = @thread.equal?(Thread.current) && (@home.equal?(Fiber.current) || Lock.scheduler.nil?)

        def satisfied? = @future ? @future.settled? : @satisfied.call

        def late? = !@limit.nil? && Deadline.now >= @limit

        def seconds = @limit && [@limit - Deadline.now, 0].max
      end

      # The reader and the drainer among a line's waiters. One waiter reads for all, and one waits until the socket takes more
      # bytes; the others sleep. A waiter that leaves (answered, late, killed or cancelled) calls its successor.
      #
      # While the reader works, the others leave their bytes to it: they leave by one write before it waits again. While it
      # waits, the others send for themselves.
      module Roles
        READ = PureWire::READABLE
        WRITE = PureWire::WRITABLE
        # Of a waiter that leaves: whether it is satisfied.
        DONE = { true => true, false => true }.freeze
        # Seconds between two looks of a waiter at the socket: its future may be cancelled, or another thread has sent its bytes.
        LOOK = 0.1

        # Reads for all until the line is over.
        def run = stay(Waiter.new(nil) { false })

        private

        # Stays until the waiter is satisfied.
        # @yield under the lock, first of all
        # @return [Boolean] false: its time was up before
        # @raise [ConnectionClosed, RemoteProtocolError] the line is over before
        def stay(waiter, &enter)
          raise @connection.reads_here if @reader&.below?

          duty = exclusively { enter ? enter_as(waiter, &enter) : next_duty(waiter) }
          until DONE.key?(duty)
            pause(duty, waiter)
            hand_on_arrived if @arrived
            duty = exclusively { next_duty(waiter) }
          end
          duty
        ensure
          exclusively { leave(waiter) } unless waiter.left
        end

        # A caller that waits for its answer becomes the reader, if there is none.
        def enter_as(waiter)
          check_open
          yield
          @reader ||= waiter unless @served
          flush_soon
          @connection.unsent_left if @served && @unsent
          duty(waiter)
        end

        # Does all that needs no waiting.
        # @return [Boolean, Symbol, Integer] whether it is satisfied, or how to wait for the next step
        def next_duty(waiter)
          return go(waiter, true) if waiter.satisfied?

          receive_what_is_there if reads?(waiter)
          return :again if @arrived && !@handing_on
          return go(waiter, true) if waiter.satisfied?
          raise @connection.complaint(@over) if @over
          return go(waiter, false) if waiter.late?

          duty(waiter)
        end

        def reads?(waiter) = !@served && !@over && (@reader.nil? || @reader.equal?(waiter))

        def go(waiter, satisfied)
          leave(waiter)
          satisfied
        end

        def duty(waiter)
          return lie_down(waiter) if @served

          @reader ||= waiter
          reads = @reader.equal?(waiter)
          return pass if reads && @woken

          flush_now if reads || @drainer.equal?(waiter)
          done?(waiter) ? :again : events_for(waiter, reads) || lie_down(waiter)
        end

        # By its own send, perhaps: no other waiter would call it.
        def done?(waiter) = @over || waiter.satisfied?

        # Waiters that were called may have more to send.
        def pass
          @woken = @reading = false
          :pass
        end

        # @return [Integer, nil] the socket's events that this waiter waits for
        def events_for(waiter, reads)
          events = (reads ? READ : 0) | (drains?(waiter) ? WRITE : 0)
          @reading = true if reads
          events unless events.zero?
        end

        def drains?(waiter)
          @drainer ||= waiter if @unsent
          return false unless @drainer.equal?(waiter)

          @drainer = nil unless @unsent
          @unsent
        end

        def lie_down(waiter)
          waiter.lie_down
          waiter.future&.awaited_by(waiter)
          (@sleeping ||= {}.compare_by_identity)[waiter] = true
          :sleep
        end

        def pause(duty, waiter)
          case duty
          when :sleep then @lock.sleep(waiter, waiter.seconds)
          when :pass then Lock.scheduler ? sleep(0) : Thread.pass
          when Integer then @wire.wait(duty, moment(waiter))
          end
        end

        # Only bytes and room end a wait for the socket, not the cancellation of a future. Another thread may fill the room.
        def moment(waiter)
          look = Deadline.now + LOOK if waiter.future || @unsent
          [look, waiter.limit].compact.min
        end

        # Gives its roles back.
        def leave(waiter)
          waiter.left = true
          @sleeping&.delete(waiter)
          @drainer = nil if @drainer.equal?(waiter)
          if @reader.equal?(waiter)
            @reader = nil
            @reading = false
          end
          @over ? release : hand_over
        end

        def hand_over
          return if @served

          flush_now if @reader.nil?
          call_successor unless @over || (@reader && (@drainer || !@unsent))
        end

        def call_successor
          successor = @sleeping&.each_key&.first
          if successor then successor.call
          elsif @unsent && @drainer.nil? && !reader_drains? then @connection.find_drainer
          end
        end

        # @return [Boolean] whether the reader looks soon at what is left
        def reader_drains? = @reader && (!@reading || !@reader.future.nil?)

        # The last waiter at the socket closes it; a server's reactor has to let go of its socket first.
        def release
          return if @reader || @drainer || @released || @served

          @released = true
          @wire.close
        end

        def settle(future, state, outcome = nil)
          future.settle(state, outcome)
          future.waiters&.each do |waiter|
            @woken = true
            waiter.call
          end
          @connection.due(future) if future.followed
        end

        def exclusively(&step)
          Thread.handle_interrupt(NEVER) do
            @lock.exclusively(&step)
          ensure
            report_end if @farewell
          end
        end

        # Once. Not under the lock: a dispatcher may have one of its own.
        def report_end
          ended = @lock.exclusively { @farewell.tap { @farewell = false } } or return
          @connection.ended(@over)
        ensure
          @wire.close if ended && @served
        end
      end
    end
  end
end
