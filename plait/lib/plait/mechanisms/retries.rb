# frozen_string_literal: true

require_relative "../values/backoff"
require_relative "../values/errors"

module Plait
  module Mechanisms
    # How often a failed item is tried again.
    class Retries < Backoff
      KEYS = [*Backoff::KEYS, :on].freeze

      # @return [Array<Class>] what is tried again
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
        return kinds if kinds.any? && kinds.all?(Module)

        raise UsageError, "retries: on must be an error class or several, not #{kinds.inspect}"
      end
    end
  end
end
