# frozen_string_literal: true

module Plait
  module Mechanisms
    # The options that every verb of the face takes, checked.
    class Options
      ON_ERROR = %i[raise collect skip].freeze

      # @return [Integer, Array<Integer>, nil] items in flight; nil: the mechanism's default
      attr_reader :limit
      # @return [Numeric, nil] seconds for each attempt at an item
      attr_reader :timeout
      # @return [Deadline, nil] for all
      attr_reader :deadline
      attr_reader :retries
      # @return [Symbol] :raise, :collect or :skip
      attr_reader :on_error
      # @return [#call, nil] called with (done, total or nil)
      attr_reader :progress
      # @return [Array<Symbol>, nil] mechanisms that `on: :auto` may choose; nil: all that share memory
      attr_reader :among

      def initialize(limit: nil, timeout: nil, deadline: nil, retries: 0, on_error: :raise, progress: nil, among: nil)
        @limit = check_limit(limit)
        @timeout = check_seconds(:timeout, timeout)
        @deadline = deadline.is_a?(Deadline) ? deadline : Deadline.after(check_seconds(:deadline, deadline))
        @retries = Retries.from(retries)
        @on_error = check_on_error(on_error)
        @progress = check_progress(progress)
        @among = among && Array(among)
      end

      # @return [Boolean] whether an attempt needs a clock over it
      def timed? = !(@timeout.nil? && @deadline.nil?)

      # @param error [Exception] that ended the worker of an item
      # @param attempts [Integer] made so far
      # @return [Boolean] whether another one is to run it again
      def again?(error, attempts) = !error.is_a?(DeadlineExceeded) && !@deadline&.expired? && @retries.again?(error, attempts)

      private

      def check_limit(limit)
        whole = ->(n) { n.is_a?(Integer) && n.positive? }
        return limit if limit.nil? || whole.call(limit)
        return limit if limit.is_a?(Array) && limit.size == 2 && limit.all?(&whole)

        raise UsageError, "limit: must be a whole number from 1 (how many items are in flight), not #{limit.inspect}"
      end

      def check_seconds(name, seconds)
        return seconds if seconds.nil? || (seconds.is_a?(Numeric) && seconds.real? && seconds.positive?)

        raise UsageError, "#{name}: must be seconds above 0, or nil for none, not #{seconds.inspect}"
      end

      def check_on_error(policy)
        return policy if ON_ERROR.include?(policy)

        raise UsageError, "on_error: must be one of #{ON_ERROR.map(&:inspect).join(", ")}, not #{policy.inspect}"
      end

      def check_progress(progress)
        return progress if progress.nil? || progress.respond_to?(:call)

        raise UsageError, "progress: takes something to call with (done, total), not #{progress.inspect}"
      end
    end

    # How often a failed item is tried again.
    class Retries < Backoff
      KEYS = [*Backoff::KEYS, :on].freeze

      # @return [Array<Class>] errors after which an item is tried again
      attr_reader :on

      # @param count [Integer] attempts after the first one
      # @param on [Class, Array<Class>] errors
      # @param pauses [Hash] see {Backoff#initialize}
      # @raise [UsageError]
      def initialize(count: 1, on: StandardError, **pauses)
        super(count: count, **pauses)
        @on = check_kinds(Array(on))
      end

      # @param error [Exception] an {Unrepeatable} one only where it is named itself: nothing is done twice by default
      # @param attempts [Integer] made so far
      def again?(error, attempts) = attempts <= @count && kinds(error).any? { |kind| error.is_a?(kind) }

      private

      def kinds(error) = error.is_a?(Unrepeatable) ? @on.select { |kind| kind <= Unrepeatable } : @on

      def check_kinds(kinds)
        return kinds if kinds.any? && kinds.all? { |kind| kind.is_a?(Class) ? kind <= Exception : kind.is_a?(Module) }

        raise UsageError, "retries: on must be an error class or several, not #{kinds.inspect}"
      end
    end
  end
end
