# frozen_string_literal: true

require "plait/mechanisms"
require "plait/mechanisms/base"
require "plait/mechanisms/coordinator"
require "plait/mechanisms/failure"
require "plait/mechanisms/patches"
require "plait/mechanisms/worker_thread"
require_relative "fan_out/fiber_pool"
require_relative "fan_out/lazy_source"
require_relative "fan_out/slot"
require_relative "options"

module Plait
  module HTTP
    # Many requests at once, their responses handed over one by one: on a {FiberPool} in the calling thread, a {ThreadPool}, or
    # any other mechanism. See {Client#fan_out}.
    class FanOut
      # Threads that take requests from one Array, each with a connection that it keeps. Through
      # `Plait.each_result(on: :threads)` a request costs 1.3 times as much, for it goes from one thread to another twice.
      class ThreadPool
        # Answers that wait for the caller, for each thread; beyond it the threads wait too.
        BACKLOG = 8

        # @param limit [Integer] threads at most
        # @param outcomes [Boolean] whether successes are handed over as outcomes too
        # @yieldreturn [Slot] of a new worker
        def initialize(items, limit, outcomes:, &slot)
          @items = items
          @workers = Array.new([limit, items.size].min) { Worker.new(self, items, slot.call, outcomes) }
          @at = -1
          @lock = Mutex.new
          @answers = Thread::SizedQueue.new([@workers.size * BACKLOG, 1].max)
          @threads = []
        end

        # @yieldparam answer [Response, Outcome] the Response has the index of its item
        # @return [true] nothing is left behind
        def each(_deadline)
          @workers.each_with_index { |worker, number| @threads << WorkerThread.new(number, worker, @answers) }
          @items.size.times { yield(@answers.pop) }
          complete = true
        ensure
          Uninterruptible.run { shut(complete) }
        end

        # Ends all requests in flight.
        # @return [Array<Response, Outcome>] answers that the caller has not taken
        def cancel
          @lock.synchronize { @at = @items.size }
          left = drain # a thread that waits for room goes on
          WorkerThread.stop(@threads)
          left + drain
        end

        # @return [Integer, nil] the index of the next item
        def take
          @lock.synchronize do
            index = @at += 1
            index if index < @items.size
          end
        end

        # One thread's items, with its connection.
        class Worker
          def initialize(pool, items, slot, outcomes)
            @pool = pool
            @items = items
            @slot = slot
            @outcomes = outcomes
          end

          # @return [Array(Worker, Integer, Object, Integer), nil] the next item, which has not been tried
          def pop
            index = @pool.take
            return [self, index, @items[index], 0] if index

            close # another thread may wait for this connection
            nil
          end

          # @return [Response, Outcome] the answer to an item
          def call(index, item, _number, made:) # rubocop:disable Lint/UnusedMethodArgument -- a ** would be a Hash for each
            response = @slot.call(item)
            response.index = index
            @outcomes ? Outcome.new(index: index, item: item, value: response) : response
          rescue Mechanisms::Interruption
            raise
          rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
            Outcome.new(index: index, item: item, error: e)
          end

          def close = @slot.close
        end

        private

        # No slot is closed while a thread has it, however often the caller is interrupted. It takes as long as
        # {WorkerThread} gives a cancelled item.
        def shut(complete)
          cancel unless complete
          @threads.each(&:join)
          @workers.each(&:close)
        end

        def drain = Array.new(@answers.size) { @answers.pop }
      end

      # Requests in flight on fibers and threads by default.
      LIMIT = 64
      # Items of a lazy source that are read ahead.
      AHEAD = 256
      OPTIONS = %i[limit deadline on_error progress].freeze

      # @param timeouts [Timeouts] of each request
      # @param per_origin [Integer, nil] requests in flight to one origin
      # @param on [Symbol, Array<Symbol>, nil] nil: fibers, where Ruby's can wait together
      # @param options [Hash] limit, deadline, on_error and progress of {Plait.map}
      # @raise [UsageError]
      def initialize(client, requests, timeouts:, per_origin: nil, on: nil, **options)
        @client = client
        @requests = check(requests)
        @timeouts = timeouts
        @options = build(options)
        raise Ractors.refusal if Array(on).include?(:ractors)

        Mechanisms.fetch(on) if on == :fibers
        @on = on.nil? ? (:threads if Mechanisms.find(:fibers).unavailable) : on
        @per_origin = check_per_origin(per_origin)
        @done = 0
      end

      # @return [Array<Response, Outcome>, nil] in the order of the requests; with a block: nil
      def run(&consumer)
        return all unless consumer

        each(&consumer)
        nil
      end

      private

      def all
        answers = []
        each { |answer| answers[answer.index] = answer }
        @options.on_error == :skip ? answers.compact : answers
      end

      def each(&receiver)
        if fibers? then on_pool(FiberPool.new(source, limit, outcomes: collect?, waits: @per_origin.nil?) { slot }, &receiver)
        elsif threads? then on_pool(ThreadPool.new(@requests, limit, outcomes: collect?) { slot }, &receiver)
        else by_mechanism(&receiver)
        end
      end

      # In a fiber that may be suspended the loop turns in a thread of its own.
      def fibers?
        return false unless @on.nil? || @on == :fibers

        !Fiber.respond_to?(:current_scheduler) || Fiber.current_scheduler || Patches.root?
      end

      def threads? = @on == :threads && @requests.is_a?(Array)

      def on_pool(pool)
        progress = @options.progress
        ended = pool.each(@options.deadline) do |answer|
          failed = answer.is_a?(Outcome) && !answer.ok?
          raise failure(pool, answer) if failed && !tolerable?(answer.error)

          progress&.call(@done += 1, size)
          yield(answer) if !failed || collect?
        end
        leave_behind unless ended
      end

      def leave_behind = (raise DeadlineExceeded, Mechanisms::Executor::LEFT_BEHIND if @options.on_error == :raise)

      # `exit`, Interrupt and NoMemoryError end all requests.
      def tolerable?(error) = @options.on_error != :raise && (error.is_a?(StandardError) || error.is_a?(ScriptError))

      # A connection that is kept counts as one to its origin.
      def slot = Slot.new(@client, @timeouts, @options.deadline, keep: @per_origin.nil?)

      # With the errors of the other requests.
      def failure(pool, outcome)
        others = pool.cancel.filter_map { |answer| answer.error if answer.is_a?(Outcome) }
        Failure.mark(outcome, suppressed: others)
      end

      def by_mechanism
        slot = ->(request) { Slot.once(@client, @timeouts, @options.deadline, request) }
        coordinator = Coordinator.new(Mechanisms.fetch(@on || :fibers), @requests, @options, slot)
        coordinator.each do |outcome|
          outcome.value.index = outcome.index if outcome.value
          yield(collect? ? outcome : outcome.value)
        end
      end

      def collect? = @options.on_error == :collect

      def limit = Mechanisms.find(:fibers).limit_for(@options.limit || LIMIT)

      def source
        source = plain_source(@options.on_error == :raise)
        @per_origin ? PerOrigin.new(source, @per_origin, limit, base: @client.settings.base) : source
      end

      def plain_source(strict)
        return ArraySource.new(@requests) if @requests.is_a?(Array)

        LazySource.new(@requests, AHEAD, strict: strict)
      end

      def size
        return @size if defined?(@size)

        size = @requests.respond_to?(:size) ? @requests.size : nil
        @size = size.is_a?(Integer) ? size : nil
      end

      def check(requests)
        return requests if requests.respond_to?(:each_entry) || requests.is_a?(Array)

        raise UsageError, "fan_out takes an Enumerable of requests, such as an Array of URLs, not #{requests.class}"
      end

      def build(options)
        unknown = options.keys - OPTIONS
        return Mechanisms::Options.new(**options) if unknown.empty?

        raise UsageError, "fan_out doesn't know #{unknown.map(&:inspect).join(", ")}; it takes #{OPTIONS.join(", ")}, " \
                          "per_origin, on and timeout; the rest is for Client.new"
      end

      def check_per_origin(number)
        whole = number.nil? || (number.is_a?(Integer) && number.positive?)
        raise UsageError, "per_origin: must be a whole number from 1, not #{number.inspect}" unless whole
        return number if number.nil? || fibers?

        where = @on.nil? || @on == :fibers ? "in a fiber that may be suspended" : "with on: #{@on.inspect}"
        raise UsageError, "per_origin: is for fan_out on fibers; #{where} give the client pool: {per_key: #{number}}"
      end
    end
    private_constant :FanOut
  end
end
