# frozen_string_literal: true

require_relative "../../connection"
require_relative "../../error_format"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    class Server
      class Prefork
        # One end of what a master and a worker say to one another: MessagePack-RPC, over a pair of sockets.
        class Control
          # Seconds for an answer. A worker whose methods compute may take a while to say a word.
          PATIENCE = 5

          # @param socket [UNIXSocket]
          # @yieldparam method [String]
          # @yieldparam arguments [Array]
          # @yieldreturn [Object] what the other end is answered
          def initialize(socket, &answer)
            @answer = answer
            @connection = Connection.new(socket, endpoint: "the process beside it", dispatcher: self)
          end

          # Reads until the other end is gone.
          # @return [void]
          def run
            @connection.run
          rescue Error
            nil # it is over
          end

          # @return [Object]
          # @raise [Plait::Error] it does not answer
          def ask(method, *arguments) = @connection.request(method, arguments, limit: Deadline.now + PATIENCE)

          # @return [void]
          def tell(method, *arguments)
            @connection.notify(method, arguments, limit: Deadline.now + PATIENCE)
          rescue Error
            nil # it is gone
          end

          # @return [void]
          def close = @connection.close

          # @!group As the dispatcher of its connection

          # An answer may need to be asked for elsewhere, so it is not given by who reads.
          # @return [void]
          def take(incoming)
            incoming.dispatcher = self
            Thread.new { answer(incoming) }.name = "plait rpc control"
          end

          # @return [Boolean]
          def settle(incoming) = incoming.answered!

          # @return [Boolean]
          def room?(_connection) = true
          alias place? room?

          # @return [void]
          def closed(_connection, _error) = nil

          # @return [void]
          def unsent(_connection) = nil

          private

          def answer(incoming)
            incoming.respond(@answer.call(incoming.method_name, incoming.arguments))
          rescue StandardError => e
            incoming.connection.respond_error(incoming.id, ErrorFormat.sentence(e)) if incoming.id
          end
        end
      end
    end
  end
end
