# frozen_string_literal: true

require "plait/mechanisms/interruption"
require "plait/mechanisms/threads/worker"
require "plait/values/outcome"

module Plait
  module HTTP
    class FanOut
      # Threads that take requests from one Array, each with a connection that it keeps: what {Crew} is for fibers. Through
      # `Plait.map(on: :threads)` a request costs three times as much, for it goes from one thread to another twice, and so
      # does the GVL.
      class Gang
        # Answers that wait for the caller, for each thread; then the threads wait too.
        BACKLOG = 8
        NEVER = { Object => :never }.freeze # to make one calls a method, at whose end Ruby looks for interrupts
        private_constant :NEVER

        # @param items [Array]
        # @param limit [Integer] threads at most
        # @param outcomes [Boolean] whether successes are handed over as outcomes too
        # @yieldreturn [#call, #close] the lane of a new member
        def initialize(items, limit, outcomes:, &lane)
          @items = items
          @outcomes = outcomes
          @lanes = Array.new([limit, items.size].min, &lane)
          @at = -1
          @lock = Mutex.new
          @answers = Thread::SizedQueue.new([@lanes.size * BACKLOG, 1].max)
          @workers = []
        end

        # @yieldparam answer [Response, Outcome] the Response has the index of its item
        # @return [true] nothing is left behind
        def each(_deadline)
          @lanes.size.times { |number| @workers << Mechanisms::Threads::Worker.new(number, self, @answers) }
          @items.size.times { yield(@answers.pop) }
          complete = true
        ensure
          Thread.handle_interrupt(NEVER) { shut(complete) }
        end

        # Ends what is in flight.
        # @return [Array<Response, Outcome>] answers that nobody has taken
        def cancel
          @lock.synchronize { @at = @items.size }
          left = drain # who waits for room has it now
          Mechanisms::Threads::Worker.stop(@workers)
          left + drain
        end

        # @!group For its workers

        # @return [Array(Gang, Integer, Object, Integer), nil] the next item, which has not been tried
        # @api private
        def pop
          @lock.synchronize do
            index = @at += 1
            [self, index, @items[index], 0] if index < @items.size
          end
        end

        # @return [Response, Outcome] the answer to an item
        # @api private
        def call(index, item, number, made:) # rubocop:disable Lint/UnusedMethodArgument -- a ** would be a Hash for each
          response = @lanes[number].call(item)
          response.index = index
          @outcomes ? Outcome.new(index: index, item: item, value: response) : response
        rescue Mechanisms::Interruption
          raise
        rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
          Outcome.new(index: index, item: item, error: e)
        end

        private

        # However often the caller is interrupted: no lane is closed while a thread has it, and none is left. It takes as long
        # as {Mechanisms::Threads::Worker} gives a cancelled item.
        def shut(complete)
          cancel unless complete
          @workers.each(&:join)
          @lanes.each(&:close)
        end

        def drain = Array.new(@answers.size) { @answers.pop }
      end
    end
  end
end
