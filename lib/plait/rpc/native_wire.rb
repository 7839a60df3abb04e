# frozen_string_literal: true

require_relative "../native"
require_relative "../protocols/messagepack_rpc"

module Plait
  module RPC
    NativeRPC.define_wire(self) if Native.available?

    # The bytes of a connection, in C: ext/plait/rb_rpc_wire.c. Its twin is PureWire, where the methods are documented. It
    # moves them by recv(2) and sendmsg(2): what speaks TLS is PureWire's.
    class NativeWire
      def inspect = "#<#{self.class} #{unsent} bytes unsent>"
    end
  end
end
