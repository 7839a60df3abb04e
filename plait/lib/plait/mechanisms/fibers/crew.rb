# frozen_string_literal: true

require_relative "../attempt"
require_relative "../executor"
require_relative "../mechanism"
require_relative "../options"
require_relative "../../values/errors"
require_relative "run"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # What the executors on one's own and on somebody else's loop have in common.
      class Crew < Executor
        # Seconds that cancelled bodies have for their `ensure` blocks before they are abandoned.
        GRACE = 2.0

        # Runs a block in a fiber on a loop of its own, for {Plait.run}. What ends the wait for it ends the block.
        # @param deadline [Deadline, nil] for fibers that the block leaves behind
        # @return [Object] what the block returns
        def self.run(deadline: nil, **options)
          crew = new(Attempt.new(->(_) { yield }, Options.new), 1, **options)
          crew.submit(0, nil)
          outcome = crew.take
          value = outcome.value!
          raise DeadlineExceeded, LEFT_BEHIND unless crew.await_rest(deadline)

          value
        rescue UncaughtThrowError => e
          throw(e.tag, e.value) # to a `catch` around the run, which its fiber can't see
        ensure
          crew&.cancel unless outcome
          crew&.close
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
          # Who is interrupted here (Ruby looks for that where a method in C returns) and is no run any more would be waited
          # for by the loop for ever; one that still is a run is given up after a while.
          @loop.finished
          @runs.delete(run)
          @free << run.slot
          deliver(outcome)
        end

        # Called by a run that was interrupted, but not by its crew: somebody outside of the loop has interrupted the thread
        # (a time limit around the whole, a cancelled worker), and means whoever waits for the loop.
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
    end
  end
end
