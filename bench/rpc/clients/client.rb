# frozen_string_literal: true

require "socket"

module Bench
  module RPC
    module Clients
      # One way to ask a server. `serve` runs its server; the rest asks it.
      class Client
        BACKLOG = 4096

        # @param service [Service]
        # @param tell [#call] told the port
        def self.serve(service, tell) = raise(NotImplementedError)

        class << self
          # @return [Boolean] whether threads may share one client
          def shared? = false

          # Runs the block where its clients are used.
          # @return [Object] what the block returns
          def surround = yield

          # @return [Array<Client>] one for each thread, the same where they may share it
          def crowd(port, count) = shared? ? [new(port)] * count : Array.new(count) { new(port) }

          # A server with a thread for each connection.
          # @yieldparam socket [TCPSocket]
          def by_threads(tell, &answer)
            listener = TCPServer.new("127.0.0.1", 0)
            listener.listen(BACKLOG)
            tell.call(listener.addr[1])
            loop { Thread.new(prompt(listener.accept), &answer) }
          end

          # @return [TCPSocket] to a server
          def socket(port) = prompt(TCPSocket.new("127.0.0.1", port))

          # @return [TCPSocket] the same; it sends at once
          def prompt(socket) = socket.tap { socket.setsockopt(:TCP, :NODELAY, true) }

          # @yieldparam client [Client] in a thread of its own
          # @return [Array] what the block returned for each
          def at_once(clients) = clients.map { |client| Thread.new { yield client } }.map(&:value)
        end

        # @param port [Integer]
        def initialize(port)
          @port = port
        end

        # @return [String]
        def get(size) = ask(:get, size)

        # @return [Integer]
        def put(bytes) = ask(:put, bytes)

        # @return [Integer]
        def add(left, right) = ask(:add, left, right)

        # @return [Array<Integer>] the sums 0 + 1, 1 + 1 …, asked for `window` at a time
        def adds(count, window)
          (0...count).each_slice(window).flat_map { |numbers| together(numbers.map { |number| [:add, number, 1] }) }
        end

        # @return [Array<String>]
        def gets(count, size) = together(Array.new(count) { [:get, size] })

        private

        # @return [Object] the answer to a call
        def ask(method, *arguments) = raise(NotImplementedError)

        # Without anything better: one after another.
        def together(calls) = calls.map { |call| public_send(*call) }
      end
    end
  end
end
