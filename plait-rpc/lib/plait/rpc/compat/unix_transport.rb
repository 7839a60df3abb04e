# frozen_string_literal: true

require_relative "version"
require_relative "../client"
require "plait/io/endpoint"

module Plait
  module RPC
    module Compat
      # Builds connections by a UNIX socket.
      class UNIXTransport
        # @param path [String]
        # @return [RPC::Client]
        def build_transport(_session, path) = RPC::Client.new(Io::Endpoint.unix(path), timeout: nil, reconnect: 0)
      end
    end
  end
end
