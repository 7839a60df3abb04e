# frozen_string_literal: true

require "plait/io/native"
require_relative "../protocols/messagepack_rpc"

module Plait
  module RPC
    NativeRPC.define_line(self) if Native.available?

    # What goes on between a socket and those who share it, in C: rb_rpc_line.h. Its twin is PureLine, where the
    # methods are documented. It is for what speaks no TLS.
    class NativeLine
      # @return [String]
      def inspect = "#<#{self.class} #{pending} pending, #{unsent} bytes unsent>"
    end
  end
end
