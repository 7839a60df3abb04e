# frozen_string_literal: true

require_relative "../exposure"

module Plait
  module RPC
    class Server
      # What a server tells of itself, by methods whose names no other ones should have: they begin with "rpc.".
      class Introspection
        METHODS = { "rpc.methods" => :list, "rpc.ping" => :ping, "rpc.stats" => :statistics }.freeze

        # @param server [Server]
        # @return [Hash{String => Callable}]
        def self.of(server) = Exposure.of(new(server), methods: METHODS)

        def initialize(server)
          @server = server
        end

        # @return [Hash{String => Hash}] of each method the arguments it takes, at least and at most (nil: any number), and
        #   what they are called
        def list
          @server.handler.methods.transform_values do |callable|
            { "arity" => callable.arity, "parameters" => callable.parameters.map { |one| one.compact.map(&:name) } }
          end
        end

        # @return [String]
        def ping = "pong"

        # @return [Hash{String => Numeric}]
        def statistics = @server.statistics.transform_keys(&:name)
      end
    end
  end
end
