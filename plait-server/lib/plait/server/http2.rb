# frozen_string_literal: true

module Plait
  class Server
    # HTTP/2 (RFC 9113) on the server's side: each stream becomes a connection of HTTP/1.1 to the core, which so is one engine
    # for both, with one set of bounds.
    module HTTP2
      # What a listener offers by ALPN (RFC 7301), the preferred one first.
      PROTOCOLS = %w[h2 http/1.1].freeze

      class << self
        # @return [Boolean] whether the gem http-2 is there
        def available?
          return @available unless @available.nil?

          @available = !Gem.find_files("http/2.rb").empty?
        end

        # @return [Array<String>] what a listener can offer by ALPN
        def protocols = available? ? PROTOCOLS : PROTOCOLS.last(1)

        # Loads what is needed, before a connection waits for it.
        # @raise [UnsupportedError] without the gem http-2
        def load
          require_relative "http2/connection"
        end

        # @param io [Object] connected
        # @return [Boolean] whether the peer has chosen HTTP/2, and we know it
        def spoken?(io) = io.respond_to?(:alpn_protocol) && io.alpn_protocol == "h2" && available?
      end
    end
    private_constant :HTTP2
  end
end
