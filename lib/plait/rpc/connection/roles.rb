# frozen_string_literal: true

require_relative "waiter"
require_relative "../pure_wire"

module Plait
  module RPC
    class Connection
      # Who reads and who writes, of those who wait on a connection. One reads for all, and one waits until what is to be sent
      # can be; the others sleep. Whoever leaves, however he does (an answer, a timeout, a kill, a cancellation), wakes one
      # who takes over.
      #
      # While the reader is at work, what others have to send is left to him: it goes out by one write before he waits again.
      # While he waits, they send for themselves.
      module Roles
        # Interrupts are held back where the state is between two others. Nothing in there waits.
        NEVER = { Object => :never }.freeze
        READ = PureWire::READABLE
        WRITE = PureWire::WRITABLE
        # Of a waiter that leaves: whether it has what it waited for.
        DONE = { true => true, false => true }.freeze
        private_constant :READ, :WRITE, :DONE

        private

        # Stays until the waiter has what it waits for.
        # @param waiter [Waiter]
        # @yield under the lock, first of all
        # @return [Boolean] false when its time was up before
        # @raise [ConnectionClosed, RemoteProtocolError] when the connection is over before
        def await(waiter, &enter)
          duty = exclusively { enter ? enter_as(waiter, &enter) : next_duty(waiter) }
          until DONE.key?(duty)
            pause(duty, waiter)
            refuse_arrived if @arrived
            duty = exclusively { next_duty(waiter) }
          end
          duty
        ensure
          exclusively { leave(waiter) } unless waiter.left?
        end

        # He who has something to say and stays for the answer reads, if nobody else does.
        def enter_as(waiter)
          yield
          @reader ||= waiter unless @served
          flush_soon
          duty(waiter)
        end

        # Does what can be done without waiting.
        # @return [Boolean, Symbol, Integer] whether it has what it waits for, or what to do until the next step
        def next_duty(waiter)
          return go(waiter, true) if waiter.satisfied?

          receive_what_is_there if reads?(waiter)
          return go(waiter, true) if waiter.satisfied?
          raise complaint(@over) if @over
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
          events_for(waiter, reads) || lie_down(waiter)
        end

        # Those who were woken may have more to say.
        def pass
          @woken = @reading = false
          :pass
        end

        # @return [Integer, nil] the events that are his to wait for
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
          when :sleep then waiter.sleep(@lock)
          when :pass then scheduler ? sleep(0) : Thread.pass
          else @wire.wait(duty, waiter.limit)
          end
        end

        # Gives back all that it held.
        def leave(waiter)
          waiter.leave
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
          return if @reader && (@drainer || !@unsent)

          heir = @sleeping&.each_key&.first
          heir ? heir.wake : find_drainer
        end

        # What was promised to be sent, and nobody is there who does it.
        def find_drainer
          return unless @unsent && @drainer.nil? && @reader.nil?

          Thread.new { drain }.name = "plait: sends what is left"
        end

        # The last one who waits for the descriptor closes it.
        def release
          return if @reader || @drainer || @released || @served

          @released = true
          @wire.close
        end

        def wake(waiter)
          @woken = true
          waiter.wake
        end

        # A fiber never waits for the lock: before Ruby 3.3 Mutex#unlock can be overtaken inside the scheduler's hook. Who holds
        # this one never waits for anything.
        def exclusively
          Thread.handle_interrupt(NEVER) do
            @lock.try_lock || lock
            begin
              yield
            ensure
              ended, @farewell = @farewell, false
              @lock.unlock
              tell_end if ended
            end
          end
        end

        def lock
          return @lock.lock unless scheduler

          Thread.pass until @lock.try_lock
        end

        def scheduler = Fiber.respond_to?(:current_scheduler) ? Fiber.current_scheduler : nil
      end
    end
  end
end
