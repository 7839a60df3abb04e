# frozen_string_literal: true

require_relative "base"
require "timeout"
require_relative "failure"

module Plait
  # Drives one run, the same for every mechanism: pulls items while there is room, hands outcomes over in the order in
  # which they finish, applies the error policy, and leaves nothing running, however the run ends.
  class Coordinator
    # Raised in a source; not to be confused with other time limits.
    class SourceOverdue < Mechanisms::Interruption; end
    OVERDUE = "the deadline passed while the source was asked for its next item"
    # Items of a Range that are made at once, at most.
    LISTED = 1_000_000
    # A nil that the block has returned, beside the items without a value.
    NOTHING = Object.new.freeze

    def initialize(mechanism, items, options, body)
      @mechanism = mechanism
      @items = items
      @options = options
      @attempt = Attempt.new(body, options, execution: mechanism.execution)
      @done = 0
    end

    # @yieldparam outcome [Outcome] in finish order
    # @raise [Exception] with `on_error: :raise`, the first failure, marked by {Failure}
    def each(&consumer)
      @consumer = consumer
      drive { feed }
    end

    # @return [Array] values in input order; with `on_error: :collect` outcomes; with :skip the values of successful items only
    def map
      case @options.on_error
      when :raise then values
      when :collect then gather(&:itself)
      else successes
      end
    end

    # For a run whose caller is gone: a Fiber that is garbage runs none of its `ensure` parts, and an enumerator that was
    # started by `next` and dropped is one. A child that was forked meanwhile has nothing to end.
    # @param remains [#call] ends its threads and processes; does not refer to the run, which lives as long as its caller
    # @return [Proc]
    # @api private
    def self.ending(remains, generation = Native.fork_generation)
      lambda do
        Thread.new { remains.call } if Native.fork_generation == generation
      rescue ThreadError
        nil # the system gives none, or the process ends, and all this with it
      end
    end

    # @return [Object] the first value that arrives
    # @raise [AllFailed] when none does
    def first
      errors = []
      each { |outcome| outcome.ok? ? (return outcome.value) : errors << outcome.error }
      raise AllFailed.new(all_failed(errors), errors: errors)
    end

    private

    def drive
      # An executor may have a thread already: one that was never assigned could not be ended.
      Uninterruptible.run { @executor = @mechanism.executor(@attempt, limit: @mechanism.limit_for(@options.limit)) }
      @executor.remains&.then { |remains| MainRactor::Finalizer.define(self, Coordinator.ending(remains)) }
      @pending = 0
      complete = false
      yield
      collect while @pending.positive?
      cut_off(Mechanisms::Executor::LEFT_BEHIND) unless @executor.await_rest(@options.deadline)
      complete = true
    ensure
      shut(complete)
    end

    def values
      results = []
      @consumer = ->(outcome) { results[outcome.index] = outcome.value }
      drive { together(results) || feed }
      results
    end

    # Where nothing asks for single outcomes, the executor goes from item to item by itself.
    # @return [Boolean] false: it can't
    def together(results)
      items = list if @options.deadline.nil? && @options.progress.nil?
      return false unless items

      failed = @executor.run_all(items, results)
      fail_with(failed) if failed
      failed.nil?
    end

    # @return [Array, nil]
    def list
      return @items if @items.instance_of?(Array) && @items.singleton_methods.empty?

      @items.to_a if @items.instance_of?(Range) && size&.<=(LISTED)
    end

    def successes
      values = gather { |outcome| outcome.value.nil? ? NOTHING : outcome.value }
      values.compact.map! { |value| value unless NOTHING.equal?(value) }
    end

    # An outcome is several times as large as most values: it is kept only where the caller asks for it.
    def gather
      results = []
      each { |outcome| results[outcome.index] = yield(outcome) }
      results
    end

    # A source that makes its items as it goes may wait for them: the deadline ends that too.
    def feed
      return pull(source) if size

      deadline = @options.deadline
      supply = @executor.supply(source, deadline, hasty: @options.on_error == :raise)
      return draw(supply) if supply

      deadline.nil? || in_a_loop? ? pull(source) : pull_in_time(deadline)
    end

    def draw(supply)
      pull(supply)
      cut_off if supply.overdue?
    end

    # (Not inside an event loop, where an interruption can't be held back while an outcome is handed over.)
    def pull_in_time(deadline)
      seconds = deadline.remaining
      return cut_off unless seconds.positive? # for Timeout.timeout 0 is no limit

      ended = OVERDUE.dup
      Timeout.timeout(seconds, SourceOverdue, ended) { pull(source) { |&block| undisturbed(&block) } }
    rescue SourceOverdue => e
      raise unless e.message.equal?(ended) # of a run around this one

      cut_off
    end

    def cut_off(reason = OVERDUE) = (raise DeadlineExceeded, reason if @options.on_error == :raise)

    def in_a_loop? = Fiber.respond_to?(:current_scheduler) && !Fiber.current_scheduler.nil?

    def pull(items, &guard)
      index = -1
      items.each_entry do |item|
        index += 1
        guard ? guard.call { take_in(index, item) } : take_in(index, item)
        break if late? && size.nil?
      end
    end

    def take_in(index, item)
      return refuse(index, item) if late?

      collect until @executor.room?
      @executor.submit(index, item)
      @pending += 1
      @executor.turn unless size # the source may wait before its next item
      collect while @pending.positive? && @executor.ready?
    end

    # The source alone is interrupted: in here an outcome could be lost.
    def undisturbed(&block) = Thread.handle_interrupt(SourceOverdue => :never, &block)

    # On JRuby 9.4 `1.step.each_entry` raises a ClassCastException of Java.
    def source
      return @items.to_enum if @items.is_a?(Enumerator::ArithmeticSequence)
      return @items if @items.respond_to?(:each_entry)
      return @items.to_enum if @items.respond_to?(:each)

      raise UsageError, "the items must respond to each, as an Array or an Enumerator does, not #{@items.class}"
    end

    def late? = @options.deadline&.expired?

    def refuse(index, item) = deliver(@attempt.refuse(index, item))

    def collect
      outcome = @executor.take or return
      @pending -= 1
      deliver(outcome)
    end

    def deliver(outcome)
      @done += 1
      fail_with(outcome) unless outcome.ok? || tolerable?(outcome.error)
      @options.progress&.call(@done, size)
      @consumer.call(outcome) if outcome.ok? || @options.on_error != :skip
    end

    # `exit`, Interrupt and NoMemoryError are never an item's private affair; too deep a recursion is.
    def tolerable?(error)
      @options.on_error != :raise && [StandardError, ScriptError, SystemStackError].any? { |kind| error.is_a?(kind) }
    end

    def fail_with(outcome)
      others = Array(@executor.cancel).filter_map(&:error)
      raise Failure.mark(outcome, suppressed: others)
    end

    def size
      return @size if defined?(@size)

      size = @items.respond_to?(:size) && !@items.respond_to?(:read) ? @items.size : nil # a file's are its bytes
      @size = size.is_a?(Integer) ? size : nil
    end

    def shut(complete)
      return unless @executor

      @executor.cancel unless complete
    ensure
      @executor&.close
      ObjectSpace.undefine_finalizer(self)
    end

    def all_failed(errors)
      return "there was no candidate to try" if errors.empty?

      "all #{errors.size} candidates failed; the last with #{errors.last.class}: #{errors.last.message}"
    end
  end
  private_constant :Coordinator
end
