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
      # Handshakes at once; others wait in the kernel.
      HANDSHAKES = 64
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
        @handshakes = 0
      end

      # Accepts until it is closed.
      # @yield starts a job beside it
      # @return [void]
      def run(&start)
        @listener.each do |socket|
          @handshakes += 1
          yield -> { let_in(socket, &start) }
          sleep(LOOK) while full? && !@closed
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
        @handshakes >= HANDSHAKES || (connections && @core.statistics.fetch(:connections) + @handshakes >= connections)
      end

      # Whoever does not speak TLS is gone by it.
      def let_in(socket, &start)
        address = socket.remote_address.then { |remote| remote.ip? ? remote.ip_address : "127.0.0.1" }
        stream = @listener.stream(socket, deadline: Deadline.after(@options.handshake_timeout))
        relay = Relay.new(stream, bring(address), @options.write_timeout)
      rescue Error, SystemCallError, IOError
        socket.close
      else
        start.call(-> { relay.answer })
        relay.ask
      ensure
        @handshakes -= 1 unless relay
      end

      # @return [UNIXSocket] our end
      def bring(address)
        ours, theirs = UNIXSocket.pair
        theirs.autoclose = false
        @core.bring(theirs.fileno, @number, address)
        @handshakes -= 1
        ours
      end
    end
  end
end
