# frozen_string_literal: true

require "socket"
require_relative "relay"
require_relative "../values/deadline"
require_relative "../values/errors"

module Plait
  class Server
    # Lets in those who speak TLS, one listening socket's: the core sees of each connection what was decrypted, by a pair of
    # sockets. So there is one engine for both; a connection costs two fibers, or threads, while it lasts.
    class Gate
      # Handshakes at once; others wait in the kernel. A thread costs more than a fiber.
      HANDSHAKES = Hash.new(1024).merge(threads: 64).freeze
      # Seconds that each may take however many others wait: who then still is not done makes room for them.
      PATIENCE = 1
      # Seconds between two looks whether there is room for another one.
      LOOK = 0.02

      # @param listener [Io::Listener]
      # @param core [NativeCore]
      # @param number [Integer] as the core knows the listener
      # @param options [Options]
      def initialize(listener, core, number, options)
        @listener = listener
        @core = core
        @number = number
        @options = options
        @handshakes = {}.compare_by_identity # when each began, the oldest first
      end

      # Accepts until it is closed.
      # @yield starts a job beside it
      # @return [void]
      def run(&start)
        @listener.each do |socket|
          @handshakes[socket] = Deadline.now
          yield -> { let_in(socket, &start) }
          make_room while full? && !@closed
        end
      end

      # @return [void]
      def close
        @closed = true
        @listener.close
      end

      private

      def full?
        connections = @options.connections
        count = @handshakes.size
        count >= HANDSHAKES[@options.on] || (connections && @core.statistics.fetch(:connections) + count >= connections)
      end

      # Peers that say nothing must not keep out those who would. What waits for the peer sees the end of it.
      def make_room
        socket, began = @handshakes.first
        return sleep(LOOK) unless socket && Deadline.now - began > PATIENCE

        @handshakes.delete(socket)
        socket.shutdown
      rescue SystemCallError, IOError
        nil # it is gone by itself
      end

      # Whoever does not speak TLS is gone by it.
      def let_in(socket, &start)
        stream = shake_hands(socket)
        address = socket.remote_address.then { |remote| remote.ip? ? remote.ip_address : "127.0.0.1" }
        relay = Relay.new(stream, bring(address), @options.write_timeout)
      rescue Error, SystemCallError, IOError
        nil # closed below
      else
        start.call(-> { relay.answer })
        relay.ask
      ensure
        socket.close unless relay
      end

      def shake_hands(socket)
        @listener.stream(socket, deadline: Deadline.after(@options.handshake_timeout))
      ensure
        @handshakes.delete(socket)
      end

      # @return [UNIXSocket] our end
      def bring(address)
        ours, theirs = UNIXSocket.pair
        @core.bring(theirs.fileno, @number, address)
        ours
      ensure
        theirs&.close # the core has a descriptor of its own
      end
    end
  end
end
