# frozen_string_literal: true

require_relative "../scheduler"
require_relative "pool"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # Runs the items on an event loop in the calling thread, which turns while the caller waits for an outcome.
      class Host < Pool
        def initialize(attempt, limit)
          super
          @finished = []
          @loop = Scheduler.turned_by_caller("Fiber.schedule { Plait.map(...) }, or Async { ... }") { |own| @own = own }
        end

        def ready? = !@finished.empty?

        def turn
          asked = 0
          @loop.run_until(0) { (asked += 1) > 2 } # the ready ones, then the descriptors, once
        end

        def supply(source, deadline, hasty:) = @supply = Supply.new(@loop, source, deadline) { hasty && @failed }

        def take
          @loop.run_until { !@finished.empty? }
          @pending -= 1
          @finished.shift
        end

        def run_all(items, values)
          return false unless @attempt.is_a?(Attempt)

          series = Series.new(@attempt, items, values)
          [@limit, items.size].min.times do |slot|
            relay = Relay.new(self, series, slot, @loop)
            @runs[relay] = true
            start(relay)
          end
          @loop.run_until { @runs.empty? || !@finished.empty? }
          @finished.shift
        end

        # Called by a relay.
        # @param outcome [Outcome] a failed one
        def fail(outcome)
          @finished << outcome
          @loop.look_again
        end

        def interrupt(...) = @loop.interrupt(...)

        def await_rest(deadline) = @own.nil? || @loop.run_out(deadline)

        def close
          return unless @own

          begin
            @runs.empty? && (@supply.nil? || @supply.over?) ? @loop.stop : @loop.abandon
          ensure
            Fiber.set_scheduler(nil)
          end
        end

        private

        def start(run) = @loop.spawn(run)

        def deliver(outcome)
          return unless outcome

          @failed = true unless outcome.ok?
          @finished << outcome
        end

        def settle
          limit = Deadline.now + GRACE
          @loop.run_until(GRACE) { @runs.empty? || Deadline.now > limit }
        end

        def leftovers = @finished.slice!(0..)
      end

      # Asks a source for its items in a fiber of the loop, so that the items at hand go on while the source waits for its
      # next one. One item ahead, and never while the caller has control: what the source has in the middle of a wait (a
      # connection to a database, say) may be the caller's as well.
      class Supply
        # @param loop [Scheduler] whose turns the calling fiber takes
        # @param deadline [Deadline, nil] at which the source is no longer waited for
        # @yieldreturn [Boolean] whether it is no longer waited for anyhow
        def initialize(loop, source, deadline, &hurry)
          @loop = loop
          @source = source
          @deadline = deadline
          @hurry = hurry
        end

        # @return [Boolean] whether the deadline has cut it off
        def overdue? = @overdue

        # @return [Boolean] whether nothing is left of its fiber
        def over? = @fiber.nil? || @over

        # In the fiber of the caller.
        # @raise [Exception] the source's error
        def each_entry
          alarm = @loop.after(@deadline.remaining) { @overdue = !@over } if @deadline
          yield @item while advance
        ensure
          alarm&.cancel
          stop unless over?
        end

        private

        # @return [Boolean] whether there is another item
        def advance
          @arrived = false
          give_way unless @over
          @loop.run_until { @arrived || @over || @overdue || @hurry.call }
          pass_on(@error) if @error
          @arrived
        end

        # Until it has an item, or waits.
        def give_way
          return @fiber.transfer if @fiber

          locals = Thread.current.keys.to_h { |name| [name, Thread.current[name]] }
          @loop.fiber do
            @fiber = Fiber.current
            locals.each { |name, value| Thread.current[name] = value }
            ask
          end
        end

        # In the fiber of the source.
        def ask
          @source.each_entry do |item|
            @item = item
            @arrived = true
            @loop.look_again
            @loop.suspend
          end
        rescue Exception => e # rubocop:disable Lint/RescueException -- it is the caller's
          @error = e unless @stopped && e.is_a?(Interruption)
        ensure
          @over = true
        end

        def pass_on(error)
          throw(error.tag, error.value) if error.is_a?(UncaughtThrowError)
          raise error
        end

        # Its `ensure` parts run, and are waited for.
        def stop
          @stopped = true
          limit = Deadline.now + Pool::GRACE
          @loop.interrupt(@fiber, Interruption.new) { !@over }
          @loop.run_until(Pool::GRACE) { @over || Deadline.now > limit }
        end
      end
    end
  end
end
