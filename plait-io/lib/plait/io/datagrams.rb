# frozen_string_literal: true

require "socket"
require_relative "connector/attempt"
require_relative "endpoint"
require_relative "listener"
require_relative "listener/binding"
require_relative "readiness"
require_relative "resolver"
require "plait/values/errors"

module Plait
  module Io
    # A UDP socket that takes datagrams from anybody, and answers. Between them nothing is known of a peer: a datagram may come
    # twice, late or never, and its sender's address may be a lie.
    class Datagrams < Listener
      # Bytes of a datagram at most (RFC 768; over IPv4).
      LONGEST = 65_507
      # Bytes of the buffer: none is cut.
      ROOM = 65_536
      # Seconds that the kernel has to make room for one more. After that it is dropped, as it might be on its way.
      PATIENCE = 0.5

      class << self
        # @param endpoint [Endpoint] udp://, with port 0 for any that is free
        # @param reuse_port [Boolean] see {Listener.open}
        # @return [Datagrams]
        # @raise [ListenError]
        def open(endpoint, reuse_port: false)
          address = Addrinfo.getaddrinfo(endpoint.host, endpoint.port, nil, :DGRAM, nil, Socket::AI_PASSIVE).first
          new(bound(address, reuse_port), scheme: :udp)
        rescue SystemCallError, SocketError => e
          advice = Listener::Binding::ADVICE[e.class] || e.message
          raise ListenError.new("can't take datagrams on #{endpoint}: #{advice}", endpoint: endpoint)
        end

        # The other side: a socket for the datagrams of one peer.
        # @param endpoint [Endpoint] udp://
        # @param deadline [Deadline, nil] for its name to be resolved
        # @return [Socket]
        # @raise [ConnectError, ResolveError, ConnectTimeout]
        def connect(endpoint, deadline: nil, resolver: Resolver.new)
          causes = []
          resolver.resolve(endpoint.host, endpoint.port, deadline: deadline).each do |address|
            return socket(address.afamily) { |socket| socket.connect(address.to_sockaddr) }
          rescue SystemCallError => e
            causes << e
          end
          raise Connector::Failure.error(endpoint, causes)
        end

        private

        def bound(address, reuse_port)
          socket(address.afamily) do |socket|
            socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_REUSEPORT, 1) if reuse_port
            socket.bind(address)
          end
        end

        def socket(family)
          socket = Socket.new(family, Socket::SOCK_DGRAM, 0)
          yield socket
          done = socket
        ensure
          socket&.close unless done
        end
      end

      # Takes datagrams until {#stop} or {#close}, in batches.
      # @yieldparam bytes [String] binary; it is used again for the next one
      # @yieldparam sender [Addrinfo]
      # @return [void]
      def each
        buffer = String.new(capacity: ROOM)
        taken = 0
        use do
          until @stopped
            sender = receive(buffer)
            next wait(nil) if sender.nil?

            yield buffer, sender
            sleep(0) if ((taken += 1) % BATCH).zero?
          end
        end
      end

      # @param bytes [String] LONGEST at most
      # @param receiver [Addrinfo]
      # @return [Boolean] whether it is on its way
      def deliver(bytes, receiver)
        send_now(bytes, receiver) || (Readiness.writable([@io], PATIENCE).any? && send_now(bytes, receiver))
      rescue SystemCallError, IOError
        false # the receiver does not exist, or there is no route
      end

      private

      # @return [Addrinfo, nil] nil: there is none
      def receive(buffer)
        result = @io.recvfrom_nonblock(ROOM, 0, buffer, exception: false)
        result.last unless result == :wait_readable
      rescue *PASSING, Errno::ECONNREFUSED
        nil # an earlier answer was refused
      end

      if RUBY_ENGINE == "jruby" # its sendmsg_nonblock is a name only
        def send_now(bytes, receiver) = @io.send(bytes, 0, receiver.to_sockaddr) == bytes.bytesize
      else
        def send_now(bytes, receiver) = @io.sendmsg_nonblock(bytes, 0, receiver, exception: false) != :wait_writable
      end
    end
  end
end
