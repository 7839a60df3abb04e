# frozen_string_literal: true

require "plait/protocols/rulebook"

module Plait
  module Protocols
    module MessagePackRPC
      # How large a message may be; the rule that it breaks else names the limit.
      class Limits < Protocols::Limits
        # In the order of struct mprpc_limits.
        DEFAULTS = { message: 256 << 20, nesting: 100, elements: 1 << 22, method_name: 1024 }.freeze
        # The largest values of the engine's integers; of nesting, the gem msgpack's.
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

      # @raise [UsageError]
      def self.limits(given = {})
        return given if given.is_a?(Limits)
        raise UsageError, "limits: is a Hash, not #{given.inspect}" unless given.is_a?(Hash)

        Limits.new(**given)
      end

      # The rules that a peer can break, and their errors. The engine's table is MPRPC_RULES in messagepack_rpc.h; a test
      # compares them.
      module Rules
        # The mistake, the section of the protocol, and the limit that allows more.
        Rule = Struct.new(:text, :section, :limit)

        FORMATS = "MessagePack, formats"
        LIMITATION = "MessagePack, limitation"
        MESSAGES = "MessagePack-RPC, messages"

        ALL = {
          never_used: ["the byte 0xc1, which begins no value", FORMATS],
          not_array: ["a message that is not an array", MESSAGES],
          shape: ["a message of another size than its kind has: 4 for a request or a response, 3 for a notification",
                  MESSAGES],
          kind: ["a kind of message other than 0, 1 and 2", MESSAGES],
          id: ["a message id that is not an unsigned integer", MESSAGES],
          method: ["a method that is not a string", MESSAGES],
          params: ["params that are not an array", MESSAGES],
          message_limit: ["a message over the limit", LIMITATION, :message],
          nesting_limit: ["containers nested deeper than the limit", LIMITATION, :nesting],
          elements_limit: ["containers with more elements in all than the limit", LIMITATION, :elements],
          method_limit: ["a method's name over the limit", MESSAGES, :method_name],
          truncated: ["the input ended inside a message", MESSAGES]
        }.transform_values { |fields| Rule.new(*fields).freeze }.freeze

        # Mistakes of the program itself. An id of ours has 32 bits; an answer has the peer's.
        OURS = {
          id: "an id that is not an Integer of 0 to 2^32 - 1 (of a response: to 2^64 - 1)",
          method: "a method that is neither a String nor a Symbol",
          params: "params that are not a packed array",
          packed: "a value that is not packed: a String of at least a byte, or an Array of Strings"
        }.freeze

        PROTOCOL = "MessagePack-RPC"

        class << self
          include Rulebook

          # @param name [Symbol] of OURS
          # @return [LocalProtocolError] to be raised
          def refusal(name, what)
            message = "not sent, for it would be broken MessagePack-RPC: #{OURS.fetch(name)}: #{what.inspect[0, 200]}"
            LocalProtocolError.new(message, rule: name)
          end
        end
      end
    end
  end
end
