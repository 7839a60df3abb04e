# frozen_string_literal: true

require "plait/io/endpoint"

module Plait
  module HTTP
    # Scheme, host and port (RFC 6454 §4): what a connection belongs to, and what credentials must not cross. Frozen, and
    # equal to another one that says the same.
    class Origin
      # Of each scheme the port that is not written.
      PORTS = { http: 80, https: 443 }.freeze

      # @return [Symbol] :http or :https
      attr_reader :scheme
      # @return [String] a name or an address, IPv6 without brackets, in lower case, with its zone: "fe80::1%eth0"
      attr_reader :host
      # @return [Integer]
      attr_reader :port
      # @return [String] "http://host" or "http://host:81": how URLs begin that belong to it
      attr_reader :prefix
      # @return [String] for the field Host: "host" or "host:81"; a zone is no business of the peer (RFC 6874 §4)
      attr_reader :host_header
      # @return [Io::Endpoint]
      attr_reader :endpoint
      # @return [Integer]
      attr_reader :hash

      # @param scheme [Symbol]
      # @param host [String]
      # @param port [Integer, nil]
      def initialize(scheme, host, port = nil)
        @scheme = scheme
        address, zone = host.include?(":") ? host.split("%", 2) : host
        @host = [address.downcase, zone].compact.join("%").freeze # the name of an interface keeps its letters
        @port = port || PORTS.fetch(scheme)
        @host_header = authority(address.downcase).freeze
        @prefix = "#{scheme}://#{zone ? authority([address.downcase, zone].join("%25")) : @host_header}".freeze
        @endpoint = tls? ? Io::Endpoint.tls(@host, @port) : Io::Endpoint.tcp(@host, @port)
        @hash = @prefix.hash
        freeze
      end

      # @return [Boolean]
      def tls? = @scheme == :https

      # @return [Boolean]
      def ==(other) = other.is_a?(Origin) && @prefix == other.prefix
      alias eql? ==

      # @return [String] {prefix}
      def to_s = @prefix

      # @return [String]
      def inspect = "#<#{self.class} #{@prefix}>"

      private

      def authority(host)
        host = "[#{host}]" if host.include?(":")
        @port == PORTS.fetch(@scheme) ? host : "#{host}:#{@port}"
      end
    end
  end
end
