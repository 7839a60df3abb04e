# frozen_string_literal: true

module Plait
  module Protocols
    module HTTP1
      module Pure
        # A rule was broken: how the parts of the twin tell its parser.
        class Broken < StandardError
          # @return [Symbol] of Rules
          attr_reader :rule
          # @return [Integer] where, in the bytes the part was given
          attr_reader :at

          def initialize(rule, at)
            super(rule.name)
            @rule = rule
            @at = at
          end
        end
      end
    end
  end
end
