# frozen_string_literal: true

module Plait
  # Runs the user's block for one item, with its timeout, the deadline and the retries. It is the same under every
  # mechanism, and runs where the mechanism runs the item.
  class Attempt
    attr_reader :body, :policy

    # @param execution [RailsExecution, nil] of each attempt
    def initialize(body, policy, execution: nil)
      @body = body
      @policy = policy
      @execution = execution
      @timed = policy.timed?
      @plain = !@timed && execution.nil?
      @storage = Mechanisms::State.storage
      @quick = @plain && policy.retries.count.zero? && @storage.nil?
    end

    # Starts the threads that a first call would start.
    # @raise [ThreadError] when the system gives no thread
    def prepare = (TimeLimit.prepare if @timed)

    # @param made [Integer] attempts that ended with the death of their worker
    # @yieldparam number [Integer] of an attempt, from 1
    # @yieldparam running [Boolean] whether it begins now; else it has failed, and there is a pause before the next
    # @return [Outcome] with the error of the body, if there was one; what passes through is an {Mechanisms::Interruption},
    #   and what ends a child that the body has forked
    def call(index, item, worker = nil, made: 0)
      hold(made) if made.positive?
      Mechanisms::State.inherit(@storage) if @storage
      started = Deadline.now
      attempts = made
      generation = Native.fork_generation
      begin
        attempts += 1
        yield attempts, true if block_given?
        value = @plain ? @body.call(item) : run(item)
      rescue Exception => e # rubocop:disable Lint/RescueException -- `exit` and Interrupt belong to the caller
        raise if through?(e, generation)

        if (pause = pause_after(e, attempts))
          yield attempts, false if block_given?
          sleep(pause)
          retry
        end
        error = e
      end
      Outcome.new(index: index, item: item, value: value, error: error, attempts: attempts,
                  started_at: started, finished_at: Deadline.now, worker: worker)
    end

    # As {#call}, for a caller that wants an outcome of a failure only.
    # @yieldparam outcome [Outcome] a failed one
    # @return [Object, nil] the value
    def value(index, item, worker, &block)
      generation = Native.fork_generation
      return value_of(call(index, item, worker), &block) unless @quick

      started = Process.clock_gettime(Process::CLOCK_MONOTONIC) # inlined: it runs for each item
      @body.call(item)
    rescue Exception => e # rubocop:disable Lint/RescueException -- as above
      raise if through?(e, generation)

      yield Outcome.new(index: index, item: item, error: e, started_at: started, finished_at: Deadline.now, worker: worker)
      nil
    end

    # @return [Outcome] of an item that the deadline left no time for
    def refuse(index, item)
      error = DeadlineExceeded.new("the deadline passed before this item was started")
      Outcome.new(index: index, item: item, error: error, attempts: 0)
    end

    private

    # @return [Boolean] whether it is no outcome: it ends the attempt, or a child that the item has forked
    def through?(error, generation) = error.is_a?(Mechanisms::Interruption) || Native.forked_since?(generation)

    def value_of(outcome)
      yield outcome unless outcome.ok?
      outcome.value
    end

    def run(item) = @execution ? @execution.run { limited(item) } : limited(item)

    def limited(item) = @timed ? timed(item) : @body.call(item)

    def timed(item)
      seconds, error = allowance
      TimeLimit.enforce(seconds, error) { @body.call(item) }
    end

    def allowance
      left = @policy.deadline&.remaining
      timeout = @policy.timeout
      timeout && (left.nil? || timeout < left) ? [timeout, TimeoutError] : [left, DeadlineExceeded]
    end

    # Waits as long as before any other attempt.
    def hold(made) = sleep([@policy.retries.pause(made), *@policy.deadline&.remaining].min.clamp(0, nil))

    # @return [Float, nil] seconds until the next attempt, if there is to be one
    def pause_after(error, attempts)
      return if error.is_a?(DeadlineExceeded) || !@policy.retries.again?(error, attempts)

      pause = @policy.retries.pause(attempts)
      pause unless @policy.deadline && @policy.deadline.remaining <= pause
    end
  end

  # The items of an Array, which workers take one after another, each when it has room; and the places of their values.
  class Series
    def initialize(attempt, items, values)
      @attempt = attempt
      @items = items
      @values = values
      @index = -1
    end

    # Takes the next item. Under the GVL no other thread comes in between reading the index and raising it.
    # @return [Integer, nil] nil: there is none, or one has failed
    def advance
      index = (@index += 1)
      index if index < @items.size && !@failed
    end

    # @return [Boolean] whether {#advance} may find another one
    def more? = @index + 1 < @items.size && !@failed

    # Runs an item, and stores its value.
    # @yieldparam outcome [Outcome] a failed one
    def perform(index, worker)
      @values[index] = @attempt.value(index, @items[index], worker) do |outcome|
        @failed = true
        yield outcome
      end
    end

    # @param index [Integer, nil] what a worker has taken, as far as it knows; nil: the one that was taken last
    def taken(index)
      index ||= @index.clamp(0, @items.size - 1)
      [index, @items[index]]
    end
  end
  private_constant :Attempt, :Series
end
