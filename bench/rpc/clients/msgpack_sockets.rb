# frozen_string_literal: true

require "msgpack"
require_relative "client"

module Bench
  module RPC
    module Clients
      # What one writes oneself in ten lines: the gem msgpack over a socket, a thread for each connection.
      class MsgpackSockets < Client
        class << self
          def serve(service, tell) = by_threads(tell) { |socket| answer(socket, service) }

          private

          def answer(socket, service)
            MessagePack::Unpacker.new(socket).each do |_, id, method, arguments|
              socket.write([1, id, nil, service.public_send(method, *arguments)].to_msgpack)
            end
          rescue IOError, SystemCallError
            socket.close
          end
        end

        def initialize(port)
          super
          @socket = self.class.socket(port)
          @unpacker = MessagePack::Unpacker.new(@socket)
        end

        private

        def ask(method, *arguments)
          @socket.write([0, 1, method, arguments].to_msgpack)
          @unpacker.read.last
        end

        def together(calls)
          @socket.write(calls.map { |method, *arguments| [0, 1, method, arguments].to_msgpack }.join)
          calls.map { @unpacker.read.last }
        end
      end
    end
  end
end
