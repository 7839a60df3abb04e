# frozen_string_literal: true

module Plait
  module Protocols
    module MessagePackRPC
      module Pure
        # A rule was broken: how the scanner tells its parser.
        class Broken < StandardError
          # @return [Symbol] of Rules
          attr_reader :rule
          # @return [Integer] where, in bytes of the message
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
