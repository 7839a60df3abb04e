# frozen_string_literal: true

require_relative "../../harness/meter"

module Bench
  module Core
    # Tasks that begin to wait and never end; and what the process has grown by then.
    class IdleTasks
      # @param trial [Harness::Trial] with the size `tasks`
      # @param wait [Symbol] :sleep or :pipe
      def initialize(trial, wait)
        @trial = trial
        @waiting = 0
        # Before the memory is read: a descriptor and its IO object are not what is compared.
        @bodies = Array.new(trial[:tasks]) { wait == :pipe ? reader(*IO.pipe) : sleeper }
      end

      # Starts them all, waits until all wait, and reports. To be called where waiting lets the others run.
      # @yieldparam body [Proc] of one task, to be started
      def report(&start)
        growth do
          @bodies.each(&start)
          sleep(0.05) until @waiting == @bodies.size
        end
      end

      # The same with fibers that wait for nothing and are resumed by nobody.
      def report_suspended
        fibers = []
        growth { @bodies.each { fibers << Fiber.new { Fiber.yield(@waiting += 1) }.tap(&:resume) } }
      end

      private

      def growth
        GC.start
        before = Harness::Processes.share
        yield
        GC.start
        after = Harness::Processes.share
        @trial.report(operations: @bodies.size, result: @waiting, memory: before && (after - before))
        @trial.finish
      end

      def sleeper
        proc do
          @waiting += 1
          sleep(3_600)
        end
      end

      # It holds the other end too: a pipe without a writer does not wait.
      def reader(input, output)
        proc do
          @waiting += 1
          input.readpartial(1) && output
        end
      end
    end
  end
end
