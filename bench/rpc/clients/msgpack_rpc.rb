# frozen_string_literal: true

require "msgpack/rpc"
require_relative "client"

module Bench
  module RPC
    module Clients
      # The gem msgpack-rpc, a client a thread: shared by threads it aborts the process.
      class MsgpackRPC < Client
        def self.serve(service, tell)
          server = MessagePack::RPC::Server.new
          server.listen("127.0.0.1", port = free_port, service)
          tell.call(port)
          server.run
        end

        # It can't say which port it got.
        def self.free_port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
        private_class_method :free_port

        def initialize(port)
          super
          @client = MessagePack::RPC::Client.new("127.0.0.1", port)
          @client.timeout = 60
        end

        private

        def ask(...) = @client.call(...)

        def together(calls) = calls.map { |call| @client.call_async(*call) }.map(&:get)
      end
    end
  end
end
