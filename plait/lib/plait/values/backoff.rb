# frozen_string_literal: true

require_relative "errors"

module Plait
  # How often something that failed is tried again, and after what pause: exponential, with jitter, so that requests that failed
  # together do not come back together. Its subclasses know which errors are worth another attempt.
  class Backoff
    # @return [Array<Symbol>] options that are taken
    KEYS = %i[count base factor max jitter].freeze

    class << self
      # @param spec [nil, false, Integer, Hash, Backoff] a count, or a Hash of KEYS
      # @return [Backoff] of this class
      def from(spec)
        case spec
        when self then spec
        when nil, false then new(count: 0)
        when Integer then new(count: spec)
        when Hash then new(**UsageError.check_names(spec, self::KEYS, "retries:"))
        else raise UsageError, "retries: takes a count or a Hash of #{self::KEYS.join(", ")}, not #{spec.inspect}"
        end
      end
    end

    # @return [Integer] attempts after the first one
    attr_reader :count

    # @param count [Integer] attempts after the first one
    # @param base [Numeric] seconds before the second attempt
    # @param factor [Numeric] by which each pause is longer than the one before
    # @param max [Numeric] seconds of the longest pause
    # @param jitter [Numeric] 0 to 1, the part of a pause that is random
    def initialize(count: 0, base: 0.1, factor: 2.0, max: 10.0, jitter: 0.5)
      raise UsageError, "retries: must be 0 or more, not #{count.inspect}" unless count.is_a?(Integer) && count >= 0

      @count = count
      @base = check(:base, base)
      @factor = check(:factor, factor)
      @max = check(:max, max)
      @jitter = check(:jitter, jitter, most: 1)
    end

    # @return [Hash{Symbol => Object}] options that make an equal one
    def to_h = self.class::KEYS.to_h { |key| [key, instance_variable_get(:"@#{key}")] }

    # @param attempts [Integer] made so far
    # @return [Float] seconds until the next one
    def pause(attempts)
      full = @base.zero? ? 0 : [@base * (@factor**(attempts - 1)), @max].min # no base times an infinite factor is NaN
      full - (full * @jitter * rand)
    end

    private

    # At once: an error of this kind, raised only after a failure, would hide that failure.
    def check(name, value, most: Float::INFINITY)
      return value if value.is_a?(Numeric) && value.real? && value >= 0 && value <= most

      raise UsageError, "retries: #{name} must be a number from 0#{" to #{most}" if most == 1}, not #{value.inspect}"
    end
  end
  private_constant :Backoff
end
