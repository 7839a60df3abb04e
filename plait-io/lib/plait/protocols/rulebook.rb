# frozen_string_literal: true

module Plait
  module Protocols
    # Makes errors of the rules that peers break. A protocol's Rules extend it; they have `PROTOCOL`, its name, and `ALL`: by
    # name a Struct of `text` (what is wrong), `section` (where it is written), and `limit` (the name of the one that allows
    # more, or nil).
    module Rulebook
      # @param offset [Integer] bytes of the message before the one that broke it
      # @return [RemoteProtocolError] to be raised
      def error(name, offset, limits)
        rule = self::ALL.fetch(name)
        place = { rule: name, section: rule.section, offset: offset, **particulars(rule) }
        return limit_exceeded(rule, place, limits[rule.limit]) if rule.limit

        kind = name.start_with?("truncated") ? TruncatedError : RemoteProtocolError
        kind.new("the peer sent broken #{self::PROTOCOL}: #{rule.text}, at byte #{offset} (#{rule.section})", **place)
      end

      # @return [LocalProtocolError] for a wrong call, to be raised
      def misuse(message) = LocalProtocolError.new(message)

      private

      # @return [Hash] what else the error tells
      def particulars(_rule) = {}

      def limit_exceeded(rule, place, maximum)
        message = "the peer sent #{rule.text}, at byte #{place[:offset]}: #{maximum} is the limit #{rule.limit.inspect} " \
                  "(#{rule.section}); raise it with limits: {#{rule.limit}: …}"
        LimitExceeded.new(message, limit: rule.limit, maximum: maximum, **place)
      end
    end

    # How many bytes or elements a parser takes before it raises the error that names the limit. A protocol's own have
    # DEFAULTS, in the order of the engine's struct; LARGEST, the most that its integers hold; and OPTIONAL, limits that may
    # be nil.
    class Limits
      OPTIONAL = [].freeze

      # @param limits [Hash{Symbol => Integer, nil}] the limits that differ from DEFAULTS
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

    # A broken rule, raised by the parts of a pure parser. It never leaves the parser.
    class Broken < StandardError
      # @return [Symbol] of the protocol's Rules
      attr_reader :rule
      # @return [Integer] where, in the bytes that the part was given
      attr_reader :at

      def initialize(rule, at)
        super(rule.name)
        @rule = rule
        @at = at
      end
    end
  end
end
