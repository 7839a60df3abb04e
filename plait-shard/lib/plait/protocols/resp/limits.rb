# frozen_string_literal: true

require "plait/protocols/rulebook"

module Plait
  module Protocols
    module RESP
      # How much of a command or a reply is taken before the peer has broken a rule that names the limit.
      class Limits < Protocols::Limits
        # In the order of struct resp_limits.
        DEFAULTS = { bulk: 512 << 20, command: 1 << 30, elements: 1 << 30, arguments: 1 << 20, line: 64 << 10 }.freeze
        # What the engine's integers hold.
        LARGEST = { bulk: 1 << 48, command: 1 << 48, elements: 1 << 48, arguments: (1 << 32) - 1, line: (1 << 32) - 1 }.freeze

        # @return [Integer] bytes of an argument, or of a string in a reply
        attr_reader :bulk
        # @return [Integer] bytes of a command as it comes
        attr_reader :command
        # @return [Integer] of all aggregates of a reply together; a pair of a map counts as two
        attr_reader :elements
        # @return [Integer] of a command, its name counted
        attr_reader :arguments
        # @return [Integer] bytes of an inline command
        attr_reader :line
      end
    end
  end
end
