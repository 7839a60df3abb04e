# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module Mechanisms
    # How often a failed item is tried again, and after what pause: exponential backoff with jitter, so that items that
    # failed together don't come back together.
    class Retries
      KEYS = %i[count base factor max jitter on].freeze

      # @param spec [nil, Integer, Hash, Retries] a count, or count:, base: (seconds), factor:, max: (seconds), jitter:
      #   (0.0 to 1.0, the part of a pause that is random), on: (an error class or several)
      def self.from(spec)
        case spec
        when nil, false then new(count: 0)
        when Retries then spec
        when Integer then new(count: spec)
        when Hash then from_hash(spec)
        else raise UsageError, "retries: takes a count or a Hash of #{KEYS.join(", ")}, not #{spec.inspect}"
        end
      end

      def self.from_hash(spec)
        unknown = spec.keys - KEYS
        return new(**spec) if unknown.empty?

        raise UsageError, "retries: doesn't know #{unknown.map(&:inspect).join(", ")}; it takes #{KEYS.join(", ")}"
      end
      private_class_method :from_hash

      # @return [Integer]
      attr_reader :count
      # @return [Array<Class>] what is tried again
      attr_reader :on

      def initialize(count: 1, base: 0.1, factor: 2.0, max: 10.0, jitter: 0.5, on: StandardError)
        raise UsageError, "retries: must be 0 or more, not #{count.inspect}" unless count.is_a?(Integer) && count >= 0

        @count = count
        @base = check(:base, base)
        @factor = check(:factor, factor)
        @max = check(:max, max)
        @jitter = check(:jitter, jitter, most: 1)
        @on = check_kinds(Array(on))
      end

      # @param error [Exception]
      # @param attempts [Integer] made so far
      def again?(error, attempts) = attempts <= @count && @on.any? { |kind| error.is_a?(kind) }

      # @param attempts [Integer] made so far
      # @return [Float] seconds to wait before the next one
      def pause(attempts)
        full = [@base * (@factor**(attempts - 1)), @max].min
        full - (full * @jitter * rand)
      end

      private

      def check(name, value, most: Float::INFINITY)
        return value if value.is_a?(Numeric) && value.real? && value >= 0 && value <= most

        raise UsageError, "retries: #{name} must be a number from 0#{" to #{most}" if most == 1}, not #{value.inspect}"
      end

      def check_kinds(kinds)
        return kinds if kinds.any? && kinds.all?(Module)

        raise UsageError, "retries: on must be an error class or several, not #{kinds.inspect}"
      end
    end
  end
end
