# frozen_string_literal: true

require_relative "address"
require_relative "loop"
require_relative "loop_util"
require_relative "session"
require_relative "tcp_transport"
require_relative "version"

module Plait
  module RPC
    module Compat
      # A {Session} of one's own.
      class Client < Session
        include LoopUtil

        # As {#initialize}, for the time of a block.
        # @yieldparam client [Client]
        # @return [void]
        def self.open(*arguments)
          client = new(*arguments)
          yield client
        ensure
          client&.close
        end

        # @overload initialize(host, port, loop = Loop.new)
        # @overload initialize(builder, address, loop = Loop.new)
        #   @param builder [TCPTransport, UNIXTransport]
        #   @param address [Address, String]
        def initialize(first, second, loop = nil)
          built = first.respond_to?(:build_transport)
          builder, address = built ? [first, second] : [TCPTransport.new, Address.new(first, second)]
          super(builder, address, loop || Loop.new)
        end
      end
    end
  end
end
