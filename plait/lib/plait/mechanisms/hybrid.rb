# frozen_string_literal: true

require_relative "fibers"
require_relative "scheduler"
require_relative "worker_thread"

module Plait
  module Mechanisms
    # Fibers, and a thread pool for what would block their loop: what is wrapped in {Plait.offload}, and whole items, once items
    # of the run have been seen to block. Not what Ruby 3.4 and later offers: among it is close(2), and a cancelled item would
    # leave before its file is closed.
    class Hybrid < Fibers
      def executor(attempt, limit:) = super(BlockingDetector.new(attempt), limit: limit)

      # Decides for each item of a run whether it runs in its fiber or on the pool.
      #
      # An item that held the loop for long without a single wait gains nothing from a fiber and costs all the others: after
      # two such items in a row the rest goes to the pool. An item that uses no processor there waits, maybe for something that
      # its fiber could wait for as well: after some such items in a row one is tried in its fiber. If it lets go of the loop,
      # so do the others from then on. If it holds it, there are four times as many to be seen before the next is tried.
      class BlockingDetector
        # Seconds without a wait, or of processor time on the pool, from which an item counts as blocking.
        BLOCKING = 0.01
        ENOUGH = 2
        # Items in a row that use no processor, before the first is tried.
        PATIENCE = 16
        MORE_PATIENCE = 4
        # Items given to the pool, for each of its threads: one in hand, in case that the loop is held.
        AHEAD = 2

        def initialize(attempt)
          @attempt = attempt
          @in_a_row = @calm = @offloaded = 0
          @patience = PATIENCE
          @turns = Thread::Queue.new # where a fiber waits for a place on the pool
        end

        # @return [Boolean] whether items go to the pool
        def offloading? = !@pool.nil?

        def call(index, item, worker)
          await_turn
          return here(index, item, worker) unless @pool

          due? ? try(index, item, worker) : offload(index, item, worker)
        end

        private

        def await_turn
          loop do
            return_to_fibers if @trying # it has let go of the loop, or no other fiber could come here
            break if @pool.nil? || @offloaded < @pool.size * AHEAD || due?

            @turns.pop
          end
        end

        def due? = @calm >= @patience && !@trying

        def try(...)
          @trying = true
          wake(1)
          here(...)
        ensure
          @trying = false
        end

        def here(index, item, worker)
          scheduler = Scheduler.current
          before = scheduler&.ticks
          outcome = @attempt.call(index, item, worker)
          judge(scheduler, outcome, before == scheduler.ticks) if scheduler
          outcome
        end

        def judge(scheduler, outcome, never_waited)
          return held(scheduler) if never_waited && outcome.duration > BLOCKING

          @trying ? return_to_fibers : @in_a_row = 0
        end

        def held(scheduler)
          @calm = 0
          return @patience *= MORE_PATIENCE if @trying

          @in_a_row += 1
          @pool = scheduler.offload_pool if @in_a_row >= ENOUGH
        end

        def return_to_fibers
          @pool = nil
          @in_a_row = @calm = 0
          wake(@turns.num_waiting)
        end

        def offload(index, item, worker)
          @offloaded += 1
          outcome, used = on_the_pool(index, item, worker)
          @calm = used > BLOCKING ? 0 : @calm + 1
          outcome
        ensure
          @offloaded -= 1
          wake(1)
        end

        # @return [Array(Outcome, Float)] also of an item that has ended its thread
        def on_the_pool(index, item, worker)
          attempts = 0
          begin
            @pool.call { timed { @attempt.call(index, item, worker, made: attempts) { |number, _| attempts = number } } }
          rescue WorkerDied => e
            retry if @attempt.policy.again?(e, attempts)
            [WorkerThread.death(index, item, worker, attempts), 0.0]
          end
        end

        # @return [Array(Outcome, Float)] and the seconds of processor time of its thread
        def timed
          before = processor_time
          [yield, processor_time - before]
        end

        if Process.const_defined?(:CLOCK_THREAD_CPUTIME_ID)
          def processor_time = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
        else
          def processor_time = 0.0
        end

        def wake(count) = count.times { @turns << true unless @turns.num_waiting.zero? }
      end
    end
    private_constant :Hybrid
  end
end
