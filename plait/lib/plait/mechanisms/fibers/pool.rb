# frozen_string_literal: true

require_relative "../foreign_loop"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # A pool of fibers: the common part of the executors on a loop of their own and on the caller's loop.
      class Pool < Executor
        # Seconds that cancelled bodies have for their `ensure` blocks before they are abandoned.
        GRACE = 2.0

        # Runs a block in a fiber on a loop of its own, for {Plait.run}. An exception that ends the wait ends the block.
        # @param deadline [Deadline, nil] for fibers that the block leaves behind
        # @return [Object] the block's value
        def self.run(deadline: nil)
          pool = new(Attempt.new(->(_) { yield }, Options.new, execution: RailsExecution.current), 1)
          pool.submit(0, nil)
          outcome = pool.take
          value = outcome.value!
          raise DeadlineExceeded, LEFT_BEHIND unless pool.await_rest(deadline)

          value
        rescue UncaughtThrowError => e
          throw(e.tag, e.value) # to a `catch` around the run, which its fiber can't see
        ensure
          pool&.cancel unless outcome
          pool&.close
        end

        def initialize(attempt, limit)
          super()
          @attempt = attempt
          @limit = limit
          @pending = 0
          @runs = {}.compare_by_identity
          @free = []
          @slots = 0
        end

        def room? = @pending < @limit

        def submit(index, item)
          @pending += 1
          run = Run.new(self, @attempt, index, item, @free.pop || ((@slots += 1) - 1))
          @runs[run] = true
          start(run)
        end

        # Called by a run when it is over.
        # @param outcome [Outcome, nil] nil: it was interrupted
        def finish(run, outcome)
          # An interrupt may arrive here, where a method in C returns. The loop would wait without end for a job that has left
          # @runs first; a job that is still there is given up after {GRACE}.
          @loop.finished
          @runs.delete(run)
          @free << run.slot
          deliver(outcome)
        end

        # Called by a run that was interrupted, but not by its pool: code outside of the loop has interrupted the thread
        # (a time limit around the whole, a cancelled worker), and means the caller, which waits for the loop.
        def escalate(interruption) = @loop.escalate(interruption)

        def cancel
          interrupt_all
          settle
          leftovers
        end

        private

        # Async interrupts at once: runs leave meanwhile.
        def interrupt_all = @runs.keys.each(&:interrupt) # rubocop:disable Style/HashEachMethods
      end

      # One item on its way through a fiber.
      class Run
        # @return [Integer] the place in the pool that it holds
        attr_reader :slot

        def initialize(pool, attempt, index, item, slot)
          @pool = pool
          @attempt = attempt
          @index = index
          @item = item
          @slot = slot
        end

        # In a fiber; never raises.
        def run
          return if @interrupted

          @fiber = Fiber.current
          outcome = @attempt.call(@index, @item, @slot)
        rescue Interruption => e
          @pool.escalate(e) unless @interrupted
        ensure
          @fiber = nil
          @pool.finish(self, outcome)
          @pool = @attempt = @item = nil # the loop, which is used again, may still refer to this
        end

        # A run that has not started never does.
        def interrupt
          @interrupted = true
          return unless @fiber

          @pool.interrupt(@fiber, Interruption.new) { @fiber }
        end
      end

      # A place of a pool, where items of a series run one after another.
      class Relay < Run
        def initialize(pool, series, slot, loop)
          super(pool, nil, nil, nil, slot)
          @series = series
          @loop = loop
        end

        # (see Run#run)
        def run
          return if @interrupted

          @fiber = Fiber.current
          go_on = work(State::Own.current)
        rescue Interruption => e
          @pool.escalate(e) unless @interrupted
        ensure
          @fiber = nil
          go_on ? @loop.again(self) : leave
        end

        private

        # @return [Boolean] true: it is another job's turn, or the fiber has to clear what an item has left behind
        def work(own)
          while (index = @series.advance)
            @series.perform(index, @slot) { |outcome| @pool.fail(outcome) }
            return true if State.left?(own) || !@loop.slice_left? || @loop.abandoned?
          end
          false
        end

        def leave
          @pool.finish(self, nil)
          @pool = @series = @loop = nil
        end
      end

      # Runs the items on the loop that the calling fiber already lives on: ours or another library's.
      class Guest < Pool
        def initialize(attempt, limit)
          super
          @loop = ForeignLoop.adapt(Fiber.current_scheduler)
          @finished = Thread::Queue.new
        end

        def ready? = !@finished.empty?

        def take
          outcome = @finished.pop
          @pending -= 1
          outcome
        end

        def interrupt(...) = @loop.interrupt(...)

        private

        def start(run) = @loop.spawn(run)

        # An interrupted run delivers nil, which wakes {#settle}.
        def deliver(outcome) = @finished << outcome

        def settle
          @kept = []
          TimeLimit.enforce(GRACE) { @kept << @finished.pop until @runs.empty? }
        rescue TimeoutError
          nil
        end

        def leftovers
          @kept << @finished.pop until @finished.empty?
          @kept.compact
        end
      end
    end
  end
end
