# frozen_string_literal: true

require "socket"

module Plait
  module Io
    # A peer, or an address to listen at: a host and a port, perhaps with TLS, or the path of a UNIX socket; or, for
    # datagrams, a host and a port of UDP. Frozen, and equal to another one that says the same.
    class Endpoint
      SCHEMES = { "tcp" => :tcp, "tls" => :tls, "ssl" => :tls, "udp" => :udp, "unix" => :unix }.freeze
      FORMS = "host:port, [IPv6]:port, tcp://host:port, tls://host:port, unix:///path and udp://host:port"
      PORTS = (0..65_535)
      # A host and a port; an IPv6 address stands in brackets, or its last colon could be the port's.
      AUTHORITY = %r{\A(?:\[(?<ipv6>[0-9a-f:.]+(?:%[\w.-]+)?)\]|(?<host>[^[:cntrl:] :\[\]/?#@]+))(?::(?<port>\d{1,5}))?\z}i
      URL = %r{\A(?<scheme>[a-z][a-z0-9+.-]*)://(?<rest>.*)\z}im
      OCTET = /25[0-5]|2[0-4]\d|1?\d?\d/
      IPV4 = /\A#{OCTET}(?:\.#{OCTET}){3}\z/

      class << self
        # @param default_port [Integer, nil] where the text has none
        # @param forms [String] that the caller takes, for the error message
        # @raise [UsageError] for what is none
        def parse(text, default_port: nil, forms: FORMS)
          return text if text.is_a?(Endpoint)

          scheme, rest = split(text.to_s, forms)
          return unix(rest) if scheme == :unix

          authority = AUTHORITY.match(rest.delete_suffix("/")) or refuse("#{text.inspect} is no endpoint", forms)
          port = authority[:port]&.to_i || default_port or refuse("#{text.inspect} has no port", forms)
          new(scheme, authority[:ipv6] || authority[:host], port)
        end

        def tcp(host, port) = new(:tcp, host, port)

        def tls(host, port) = new(:tls, host, port)

        def unix(path) = new(:unix, nil, nil, path)

        private

        def split(text, forms)
          url = URL.match(text) or return [:tcp, text]
          scheme = SCHEMES[url[:scheme].downcase] or
            refuse("#{text.inspect}: #{url[:scheme].inspect} is no scheme of an endpoint", forms)
          [scheme, url[:rest]]
        end

        def refuse(what, forms) = raise(UsageError, "#{what}; there are #{forms}")
      end

      # @return [Symbol] :tcp, :tls, :udp or :unix
      attr_reader :scheme
      # @return [String, nil] a name or an address, IPv6 without brackets; nil for a UNIX socket
      attr_reader :host
      attr_reader :port, :hash
      # @return [String, nil] of a UNIX socket
      attr_reader :path
      # @return [String] "tls://[::1]:443"
      attr_reader :to_s
      # @return [String, nil] the packed address, where there is nothing to resolve
      # @api private
      attr_reader :sockaddr

      # @raise [UsageError] for a port or a path that can't be
      def initialize(scheme, host, port, path = nil)
        @scheme = scheme
        @host = host&.dup&.freeze
        @port = port
        @path = path&.dup&.freeze
        check
        @to_s = "#{scheme}://#{name}".freeze
        @hash = @to_s.hash
        @sockaddr = pack&.freeze
        freeze
      end

      # @return [Boolean] whether TLS is spoken there
      def tls? = @scheme == :tls

      def unix? = @scheme == :unix

      # @return [Boolean] whether it is for datagrams; all others are for streams
      def udp? = @scheme == :udp

      # @return [Boolean] whether the host is an IP address
      def literal? = !unix? && (ipv6? || IPV4.match?(@host))

      # @return [Boolean] whether the host is an IPv6 address
      def ipv6? = !unix? && @host.include?(":")

      # @return [String, nil] the host as its peer knows it: the zone of an IPv6 address is ours (RFC 6874 §1)
      def host_without_zone = ipv6? ? @host[/\A[^%]*/] : @host

      # @return [String] "example.org:80", "[::1]:80" or a path
      def name = @path || "#{ipv6? ? "[#{@host}]" : @host}:#{@port}"

      # @return [Integer] Socket::AF_INET, AF_INET6 or AF_UNIX; of a name AF_UNSPEC
      def family
        return Socket::AF_UNIX if unix?
        return Socket::AF_UNSPEC unless literal?

        ipv6? ? Socket::AF_INET6 : Socket::AF_INET
      end

      def ==(other) = other.is_a?(Endpoint) && @to_s == other.to_s
      alias eql? ==

      def inspect = "#<#{self.class} #{self}>"

      private

      def check
        if unix?
          raise UsageError, "a UNIX socket needs an absolute path, as in unix:///run/app.sock" unless @path.start_with?("/")
        else
          raise UsageError, "#{@port.inspect} is no port: they go from 0 to 65535" unless PORTS.include?(@port)
          raise UsageError, "an endpoint needs a host" if @host.to_s.empty?
        end
      end

      def pack
        return Socket.sockaddr_un(@path) if unix?

        numeric.to_sockaddr if literal?
      rescue ArgumentError, SocketError => e # too long a path; [1:2]
        zone = "this machine has no such network interface, or the address takes none (fe80:: does)"
        raise UsageError, "#{self}: #{@host&.include?("%") ? zone : e.message}"
      end

      # Never asks a name server.
      def numeric = Addrinfo.getaddrinfo(@host, @port, nil, :STREAM, nil, Socket::AI_NUMERICHOST).first
    end
  end
end
