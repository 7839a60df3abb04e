# frozen_string_literal: true

module Plait
  module Io
    # For options of servers and pools, Structs with their defaults in `DEFAULTS`: each name is known, and each number is above
    # 0. They are checked at once, so that a typing error does not wait for load.
    module CheckedOptions
      # The largest number of connections, requests or processes: C keeps them in 31 bits.
      MOST = 1 << 30
      # The largest number of bytes: C keeps them in 63 bits.
      MOST_BYTES = 1 << 62

      # The class's side.
      module Building
        # @param given [Hash] differences from the defaults
        # @return [Struct] frozen
        def build(given)
          unknown = given.keys - self::DEFAULTS.keys
          return new(**self::DEFAULTS, **given).complete.freeze if unknown.empty?

          raise UsageError, "no option #{unknown.first}: of #{self::OWNER}; there are #{self::DEFAULTS.keys.join(", ")}"
        end
      end

      def self.included(options) = options.extend(Building)

      private

      # @param counts [Array<Symbol>] options that are whole numbers; nil is allowed where it is the default
      def check_counts(*counts, most: MOST)
        counts.each do |name|
          value = self[name]
          next if value.nil? && self.class::DEFAULTS[name].nil?

          positive?(value, Integer) or raise UsageError, "#{name}: is a number above 0, not #{value.inspect}"
          raise UsageError, "#{name}: is #{most} at most, not #{value}" if value > most
        end
      end

      # @param names [Array<Symbol>] options that are bytes
      # @raise [UsageError]
      def check_bytes(*names) = check_counts(*names, most: MOST_BYTES)

      # @param times [Array<Symbol>] options that are seconds; nil: no limit
      def check_seconds(*times)
        times.each do |name|
          value = self[name]
          value.nil? || positive?(value, Numeric) or
            raise UsageError, "#{name}: is seconds above 0, not #{value.inspect}"
        end
      end

      # @param kind [Class] of limits for received messages
      # @return [Object] one of them
      def limits_as(kind)
        return limits if limits.is_a?(kind)
        raise UsageError, "limits: is a Hash of limits, not #{limits.inspect}" unless limits.is_a?(Hash)

        kind.new(**limits)
      end

      def positive?(value, kind) = value.is_a?(kind) && value.positive?
    end
  end
end
