# frozen_string_literal: true

require_relative "version"

module Plait
  module RPC
    module Compat
      # Where a server listens by TCP.
      class TCPServerTransport
        # @param address [Address]
        def initialize(address)
          @address = address
        end

        # @param server [Server]
        # @return [void]
        def listen(server) = server.open(*@address.to_a)
      end
    end
  end
end
