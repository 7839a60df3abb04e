# frozen_string_literal: true

require "socket"
require_relative "connector/attempt"
require_relative "endpoint"
require_relative "resolver"

module Plait
  module Io
    # Connects to endpoints: TCP with Happy Eyeballs (RFC 8305), UNIX sockets, TLS. One for many threads and fibers.
    #
    # @example
    #   connector = Io::Connector.new(tls: Io::TLS::Client.new)
    #   socket = connector.connect(Io::Endpoint.parse("tls://example.org:443"), deadline: Plait::Deadline.after(5))
    class Connector
      # Seconds between two attempts (RFC 8305 §5).
      STAGGER = 0.25
      attr_reader :resolver, :tls

      # @param tls [TLS::Client, nil] for endpoints that speak TLS
      # @param stagger [Numeric] seconds an address has before the next one is tried beside it
      # @param allow [#call, nil] an Addrinfo => whether it may be connected to; nil: any
      # @param options [Hash] see {SocketOptions#initialize}: nodelay, keepalive, local_address, local_port
      def initialize(tls: nil, resolver: Resolver.new, stagger: STAGGER, allow: nil, **options)
        @tls = tls
        @resolver = resolver
        @stagger = stagger
        @allow = allow
        @options = SocketOptions.new(**options)
      end

      # @param deadline [Deadline, nil] for all of it: resolving, connecting, the handshake
      # @param phases [Phases] receives the seconds of each phase, and first of all the socket
      # @return [Socket, TLS::Socket] connected, and verified where it speaks TLS
      # @raise [ConnectError, ResolveError, TLSError, CertificateError]
      # @raise [ConnectTimeout]
      def connect(endpoint, deadline: nil, phases: Phases.new)
        raise UsageError, "#{endpoint} speaks TLS: give the connector a tls: Io::TLS::Client" if endpoint.tls? && !@tls

        socket = tcp(endpoint, deadline: deadline, phases: phases)
        socket = timed(phases, :tls=) { @tls.handshake(socket, endpoint, deadline: deadline) } if endpoint.tls?
        done = socket
      ensure
        phases&.close unless done
      end

      # As {connect}, without the handshake: a request to a proxy comes before it.
      def tcp(endpoint, deadline: nil, phases: Phases.new)
        raise UsageError, "#{endpoint} is for datagrams; a stream needs tcp://, tls:// or unix://" if endpoint.udp?

        if (address = endpoint.sockaddr)
          check(endpoint, [Addrinfo.new(address)])
          return timed(phases, :connect=) { direct(endpoint, endpoint.family, address, deadline, phases) }
        end

        addresses = timed(phases, :resolve=) { addresses_of(endpoint, deadline) }
        timed(phases, :connect=) { any(endpoint, addresses, deadline, phases) }
      end

      # As {connect}, without connecting.
      # @raise [ConnectError, ResolveError] where one of its addresses is not allowed
      # @raise [ConnectTimeout]
      def refuse_others!(endpoint, deadline: nil)
        return if @allow.nil?

        endpoint.sockaddr ? check(endpoint, [Addrinfo.new(endpoint.sockaddr)]) : addresses_of(endpoint, deadline)
      end

      private

      def addresses_of(endpoint, deadline)
        addresses = @resolver.resolve(endpoint.host, endpoint.port, deadline: deadline)
        allowed = check(endpoint, addresses).select { |address| @options.suits?(address.afamily) }
        return allowed if allowed.any?

        raise ConnectError.new("#{endpoint} has no address of the family of #{@options.local_address.ip_address}",
                               endpoint: endpoint)
      end

      # One address that is refused is enough: the name's owner could order the others first.
      def check(endpoint, addresses)
        refused = @allow && addresses.find { |address| address.ip? && !@allow.call(address) }
        return addresses unless refused

        raise ConnectError.new("#{endpoint} is refused: its address #{refused.ip_address} is not one that may be asked",
                               endpoint: endpoint)
      end

      def any(endpoint, addresses, deadline, phases)
        return Race.new(endpoint, addresses, @options, @stagger, deadline).run(phases) if addresses.size > 1

        direct(endpoint, addresses.first.afamily, addresses.first.to_sockaddr, deadline, phases)
      end

      # The only address there is: nothing to race with.
      def direct(endpoint, family, sockaddr, deadline, phases)
        attempt = Attempt.new(family, sockaddr, @options)
        raise Failure.timeout(endpoint) unless attempt.connect(deadline)

        attempt.take(phases)
      rescue SystemCallError => e
        raise Failure.error(endpoint, [e])
      ensure
        attempt&.close
      end

      def timed(phases, setter)
        start = Deadline.now
        begin
          yield
        ensure
          phases.public_send(setter, Deadline.now - start)
        end
      end

      # How long each part of connecting took, in seconds; nil where there was none. After a failure the last one that is
      # set is the one that failed.
      Phases = Struct.new(:resolve, :connect, :tls) do
        # The socket, from its connection on: a method that an interrupt ends as it returns gives its caller nothing. The caller
        # sets it to nil once it has the socket, and else calls {#close}.
        attr_accessor :socket

        def close
          @socket&.close
          @socket = nil
        end
      end

      # What is set on a socket before it connects.
      class SocketOptions
        # Name of a keepalive setting => the option; a system that lacks one does without.
        KEEPALIVE = {
          idle: %i[TCP_KEEPIDLE TCP_KEEPALIVE], interval: %i[TCP_KEEPINTVL], count: %i[TCP_KEEPCNT]
        }.transform_values { |names| names.find { |name| Socket.const_defined?(name) } }.compact.freeze

        # @return [Addrinfo, nil] the source address
        attr_reader :local_address

        # @param nodelay [Boolean] send small segments at once
        # @param keepalive [Boolean, Hash{Symbol => Integer}] let the system probe idle peers; {idle: seconds before the
        #   first probe, interval: seconds between two, count: unanswered ones until the peer counts as dead}
        # @param local_address [String, nil] the source address
        # @param local_port [Integer] its port, so that there is one connection at a time to a peer; 0: the system takes one
        def initialize(nodelay: true, keepalive: false, local_address: nil, local_port: 0)
          raise UsageError, "local_port: needs a local_address:" if local_port.positive? && local_address.nil?

          @nodelay = nodelay
          @keepalive = keepalive
          @local_address = local_address && Addrinfo.tcp(local_address, local_port)
          check_keepalive
        rescue SocketError
          raise UsageError, "local_address: #{local_address.inspect} is no IP address"
        end

        # @return [Boolean] whether an address of this family can be reached from the source address
        def suits?(family) = @local_address.nil? || @local_address.afamily == family

        # @param family [Integer] as Socket::AF_INET
        def apply(socket, family)
          return if family == Socket::AF_UNIX

          socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if @nodelay
          apply_keepalive(socket) if @keepalive
          bind(socket) if @local_address
        end

        private

        # The port may still be that of a connection that has ended.
        def bind(socket)
          socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_REUSEADDR, 1) if @local_address.ip_port.positive?
          socket.bind(@local_address)
        end

        def check_keepalive
          return unless @keepalive.is_a?(Hash)

          unknown = @keepalive.keys - KEEPALIVE.keys
          raise UsageError, "keepalive: there is no #{unknown.first.inspect}; there are idle, interval and count" if unknown.any?
        end

        def apply_keepalive(socket)
          socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_KEEPALIVE, 1)
          return unless @keepalive.is_a?(Hash)

          @keepalive.each { |name, value| socket.setsockopt(Socket::IPPROTO_TCP, Socket.const_get(KEEPALIVE.fetch(name)), value) }
        end
      end
    end
  end
end
