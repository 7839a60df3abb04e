# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module Protocols
    # How much is taken before the peer has broken a rule that names the limit. A protocol's own have DEFAULTS, in the order of
    # the engine's struct; LARGEST, what its integers hold; and OPTIONAL, those that may be nil, for none.
    class Limits
      OPTIONAL = [].freeze

      # @param limits [Hash{Symbol => Integer, nil}] those that differ from DEFAULTS
      # @raise [UsageError]
      def initialize(**limits)
        self.class::DEFAULTS.merge(limits).each do |name, value|
          check(name, value)
          instance_variable_set(:"@#{name}", value)
        end
        freeze
      end

      # @return [Array<Integer, nil>] in the order of DEFAULTS
      def to_a = self.class::DEFAULTS.keys.map { |name| self[name] }

      # @param name [Symbol]
      # @return [Integer, nil]
      def [](name) = public_send(name)

      private

      def check(name, value)
        largest = self.class::LARGEST.fetch(name) do
          raise UsageError, "no limit #{name.inspect}; there are #{self.class::DEFAULTS.keys.join(", ")}"
        end
        return if value.nil? && self.class::OPTIONAL.include?(name)
        return if value.is_a?(Integer) && value.between?(0, largest)

        raise UsageError, "the limit #{name} must be an Integer from 0 to #{largest}, not #{value.inspect}"
      end
    end
  end
end
