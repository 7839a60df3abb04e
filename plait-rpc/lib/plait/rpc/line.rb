# frozen_string_literal: true

require "plait/io/native"
require_relative "native_line"
require_relative "pure_line"

module Plait
  module RPC
    # Chooses what looks after a connection's socket.
    module Line
      module_function

      # @param io [BasicSocket, Io::TLS::Socket] connected
      # @return [Class<NativeLine>, Class<PureLine>]
      def for(io) = io.is_a?(BasicSocket) && Native.available? ? NativeLine : PureLine
    end
  end
end
