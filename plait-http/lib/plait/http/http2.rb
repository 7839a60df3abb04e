# frozen_string_literal: true

require_relative "http2/engine"
require_relative "http2/connection"
require_relative "http2/sharing"
require_relative "http2/wire"

module Plait
  module HTTP
    # HTTP/2 (RFC 9113), by the gem http-2: many requests at once on one connection, from threads and fibers.
    #
    # @example
    #   tls = Io::TLS::Client.new(alpn: HTTP2::PROTOCOLS)
    #   socket = Io::Connector.new(tls: tls).connect(endpoint)
    #   connection = HTTP2::Connection.new(socket, endpoint: endpoint) if HTTP2.spoken?(socket)
    #   connection.request("GET", "https://example.org/").body
    module HTTP2
      # What is offered by ALPN (RFC 7301), the preferred one first.
      PROTOCOLS = %w[h2 http/1.1].freeze

      # @param socket [Io::TLS::Socket, BasicSocket] connected
      # @return [Boolean] whether the peer has chosen HTTP/2
      def self.spoken?(socket) = socket.respond_to?(:alpn_protocol) && socket.alpn_protocol == "h2"
    end
  end
end
