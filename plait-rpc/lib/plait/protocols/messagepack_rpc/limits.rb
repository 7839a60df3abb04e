# frozen_string_literal: true

require "plait/protocols/rulebook"

module Plait
  module Protocols
    module MessagePackRPC
      # How much of a message is taken before the peer has broken a rule that names the limit.
      class Limits < Protocols::Limits
        # In the order of struct mprpc_limits.
        DEFAULTS = { message: 256 << 20, nesting: 100, elements: 1 << 22, method_name: 1024 }.freeze
        # What the engine's integers hold; of the nesting, what the gem msgpack unpacks.
        LARGEST = { message: (1 << 62) - 1, nesting: 128, elements: (1 << 32) - 1, method_name: (1 << 32) - 1 }.freeze

        # @return [Integer] bytes of a message, large strings counted
        attr_reader :message
        # @return [Integer] containers within one another in params, an error or a result, the params' own array counted
        attr_reader :nesting
        # @return [Integer] elements of all containers of a message together; a pair of a map counts as two
        attr_reader :elements
        # @return [Integer] bytes of a method's name
        attr_reader :method_name
      end
    end
  end
end
