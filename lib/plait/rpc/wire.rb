# frozen_string_literal: true

require_relative "../native"
require_relative "native_wire"
require_relative "pure_wire"

module Plait
  module RPC
    # Chooses how the bytes of a connection are moved.
    module Wire
      module_function

      # @param io [BasicSocket, Io::TLS::Socket] connected
      # @param parser [Protocols::MessagePackRPC::Parser] into which what comes goes
      # @return [NativeWire, PureWire]
      def over(io, parser)
        plain = io.is_a?(BasicSocket)
        plain && Native.available? ? NativeWire.new(io, parser) : PureWire.new(io, parser)
      end
    end
  end
end
