# frozen_string_literal: true

require_relative "version"
require_relative "../client"

module Plait
  module RPC
    module Compat
      # Builds connections by TCP.
      class TCPTransport
        # @return [Integer] without an effect: a server that is not there is told at once
        attr_accessor :reconnect_limit

        def initialize = @reconnect_limit = 5

        # @param address [Address]
        # @return [RPC::Client]
        def build_transport(_session, address) = RPC::Client.new(*address.to_a, timeout: nil, reconnect: 0)
      end
    end
  end
end
