# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module HTTP
    module NetHTTP
      # What can be set, see {NetHTTP.configure}. Immutable: a change is a new one, put in the other's place.
      class Settings
        # Half of the 1,024 descriptors that a process may usually have; a single origin gets half of these.
        DEFAULTS = { total: 512, per_key: 256, idle_timeout: 30, strict: true }.freeze

        # @return [Integer] connections open at once, in use and idle
        attr_reader :total
        # @return [Integer] of these, with the same {Key}
        attr_reader :per_key
        # @return [Numeric] seconds for which a connection that nobody uses is kept
        attr_reader :idle_timeout
        # @return [Boolean] whether an answer that ends before it is complete is an EOFError; to Net::HTTP it is a success
        attr_reader :strict

        # @raise [UsageError] for an unknown setting, or a value that makes no sense
        def initialize(**changes)
          unknown = changes.keys - DEFAULTS.keys
          raise UsageError, "no such setting: #{unknown.join(", ")}; there are #{DEFAULTS.keys.join(", ")}" if unknown.any?

          @total, @per_key, @idle_timeout, @strict = DEFAULTS.merge(changes).values_at(:total, :per_key, :idle_timeout, :strict)
          check
          freeze
        end

        # @return [Settings]
        def with(**changes) = Settings.new(**to_h, **changes)

        # @return [Hash{Symbol => Object}]
        def to_h = { total: total, per_key: per_key, idle_timeout: idle_timeout, strict: strict }

        private

        def check
          { total: total, per_key: per_key }.each do |name, value|
            next if value.is_a?(Integer) && value.positive?

            raise UsageError, "#{name} must be a positive Integer, not #{value.inspect}"
          end
          return if idle_timeout.is_a?(Numeric) && !idle_timeout.negative?

          raise UsageError, "idle_timeout must be a number of seconds, not #{idle_timeout.inspect}"
        end
      end
    end
  end
end
