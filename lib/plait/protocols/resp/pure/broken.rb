# frozen_string_literal: true

module Plait
  module Protocols
    module RESP
      module Pure
        # A rule was broken; never leaves the parsers.
        class Broken < StandardError
          # @return [Symbol] of Rules::ALL
          attr_reader :rule
          # @return [Integer] bytes of the command or reply before the one that broke it
          attr_reader :at

          def initialize(rule, at)
            super(rule.to_s)
            @rule = rule
            @at = at
          end
        end
      end
    end
  end
end
