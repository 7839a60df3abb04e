# frozen_string_literal: true

require_relative "version"
require "plait/io/endpoint"

module Plait
  module RPC
    module Compat
      # Where a server listens by a UNIX socket.
      class UNIXServerTransport
        # @param path [String]
        def initialize(path)
          @path = path
        end

        # @param server [Server]
        # @return [void]
        def listen(server) = server.open(Io::Endpoint.unix(@path))
      end
    end
  end
end
