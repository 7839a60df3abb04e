# frozen_string_literal: true

require "socket"
require_relative "http2"
require_relative "relay"
require_relative "../values/deadline"
require_relative "../values/errors"

module Plait
  class Server
    # Lets in those who speak TLS, one listening socket's: the core sees of each connection what was decrypted, by a pair of
    # sockets. So there is one engine for both; a connection costs two fibers, or threads, while it lasts, and one of HTTP/2
    # costs one.
    class Gate
      # Handshakes at once; others wait in the kernel. A thread costs more than a fiber.
      HANDSHAKES = Hash.new(1024).merge(threads: 64).freeze
      # Seconds that each may take however many others wait: who then still is not done makes room for them.
      PATIENCE = 1
      # Seconds between two looks whether there is room for another one.
      LOOK = 0.02

      # @param listener [Io::Listener]
      # @param core [NativeCore]
      # @param numbers [Array<Integer>] as the core knows the listener: for HTTP/1.1, and for HTTP/2
      # @param options [Options]
      def initialize(listener, core, numbers, options)
        @listener = listener
        @core = core
        @number, @http2_number = numbers
        @options = options
        @handshakes = {}.compare_by_identity # when each began, the oldest first
        @multiplexed = {}.compare_by_identity
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

      # Lets nobody in any more; who is in gets his answers.
      # @return [void]
      def close
        @closed = true
        @listener.close
        @multiplexed.keys.each(&:drain) # rubocop:disable Style/HashEachMethods -- others may leave meanwhile
      end

      # Closes what nobody has got to: what was begun for it may have been ended before it ran.
      # @return [void]
      def clear
        @handshakes.each_key(&:close)
      end

      # @return [Boolean] whether somebody is in who was not told everything yet
      def busy? = !@multiplexed.empty?

      private

      def full?
        connections = @options.connections
        count = @handshakes.size
        count >= HANDSHAKES[@options.on] || (connections && inside + count >= connections)
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

      # Of HTTP/2 each counts, and each of its streams.
      def inside = @core.statistics.fetch(:connections) + @multiplexed.size

      # Whoever does not speak TLS is gone by it.
      def let_in(socket, &start)
        stream = shake_hands(socket)
        address = socket.remote_address.then { |remote| remote.ip? ? remote.ip_address : "127.0.0.1" }
        return serve_http2(stream.io, address) if HTTP2.spoken?(stream.io)

        relay = Relay.new(stream, bring(address, @number), @options.write_timeout)
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

      def serve_http2(io, address)
        connection = HTTP2::Connection.new(io, @options) { bring(address, @http2_number) }
        @multiplexed[connection] = true
        connection.drain if @closed
        connection.run
      ensure
        @multiplexed.delete(connection)
      end

      # @return [UNIXSocket] our end
      def bring(address, number)
        ours, theirs = UNIXSocket.pair
        @core.bring(theirs.fileno, number, address)
        ours
      ensure
        theirs&.close # the core has a descriptor of its own
      end
    end
  end
end
