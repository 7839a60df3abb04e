# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module HTTP
    # How long the parts of an exchange may take, in seconds; nil: as long as it takes.
    class Timeouts
      # Seconds, where nothing else is said.
      DEFAULTS = { connect: 10.0, first_byte: 60.0, read: 60.0, total: nil }.freeze

      class << self
        # @param spec [Timeouts, Numeric, Hash, nil] a number is for the whole; what a Hash leaves out is taken from `base`
        # @param base [Timeouts]
        # @return [Timeouts]
        # @raise [UsageError]
        def from(spec, base = DEFAULT)
          case spec
          when Timeouts then spec
          when nil then base
          when Numeric then new(**base.to_h, total: spec)
          when Hash then new(**base.to_h, **spec)
          else raise UsageError, "timeout: takes seconds or a Hash of #{DEFAULTS.keys.join(", ")}, not #{spec.inspect}"
          end
        end
      end

      # @return [Float, nil] for a connection: its name resolved, the handshake of TLS done
      attr_reader :connect
      # @return [Float, nil] from the end of the request to the first byte of the answer
      attr_reader :first_byte
      # @return [Float, nil] between two pieces of what is sent or received; a peer that drips its answer is held by `total` alone
      attr_reader :read
      # @return [Float, nil] for all of a call, with its redirects and retries
      attr_reader :total

      # @param seconds [Hash{Symbol => Numeric, nil}] those that differ from DEFAULTS
      # @raise [UsageError]
      def initialize(**seconds)
        unknown = seconds.keys - DEFAULTS.keys
        raise UsageError, "timeout: doesn't know #{unknown.join(", ")}; it takes #{DEFAULTS.keys.join(", ")}" if unknown.any?

        DEFAULTS.merge(seconds).each do |name, value|
          instance_variable_set(:"@#{name}", value.nil? ? nil : check(name, value))
        end
        freeze
      end

      # @return [Hash{Symbol => Float, nil}]
      def to_h = DEFAULTS.to_h { |name, _| [name, public_send(name)] }

      # @param name [Symbol]
      # @return [String] the option as it is written; total: where it has none, the time is up by a deadline
      # @api private
      def option(name)
        seconds = public_send(name)
        seconds ? "timeout: {#{name}: #{seconds}}" : "deadline:"
      end

      # @return [Boolean]
      def ==(other) = other.is_a?(Timeouts) && to_h == other.to_h
      alias eql? ==

      # @return [Integer]
      def hash = to_h.hash

      # @return [String]
      def inspect = "#<#{self.class} #{to_h.map { |name, seconds| "#{name}: #{seconds.inspect}" }.join(", ")}>"

      private

      def check(name, value)
        return value.to_f if value.is_a?(Numeric) && value.real? && value.to_f.finite? && value.positive?

        raise UsageError, "timeout: #{name} must be seconds above 0, or nil for no limit; not #{value.inspect}"
      end
    end

    # Those of DEFAULTS.
    Timeouts::DEFAULT = Timeouts.new
  end
end
