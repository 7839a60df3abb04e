# frozen_string_literal: true

module Plait
  module Protocols
    # A rule was broken: how the parts of a twin tell its parser. It never leaves the parsers.
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
