# frozen_string_literal: true

require_relative "proxy/address"
require_relative "proxy/environment"
require_relative "proxy/http"
require_relative "proxy/socks5"
require "plait/values/errors"

module Plait
  module HTTP
    # Somebody between us and an origin: an HTTP proxy (RFC 9110 §9.3.6, RFC 9112 §3.2.2) or a SOCKS5 one (RFC 1928).
    #
    # @example
    #   proxy = Proxy.parse("socks5h://user:secret@localhost:1080")
    #   socket = proxy.connect(connector, origin, deadline: deadline)   # => as if it were connected to the origin
    module Proxy
      # What {parse} takes.
      FORMS = "http://host:port, socks5://host:port (names are resolved here) or socks5h://host:port (by the proxy), with " \
              "user:password@ before the host where it wants them"
      # What can be asked for by other clients, and can't be here.
      UNSUPPORTED = {
        "https" => "TLS to the proxy itself is not supported: give it as http:// if it listens without, or as socks5://",
        "socks4" => "SOCKS 4 is not supported: give it as socks5:// if it speaks that",
        "socks4a" => "SOCKS 4 is not supported: give it as socks5h:// if it speaks that",
        "socks" => "say which SOCKS it is: socks5:// or socks5h://"
      }.freeze

      module_function

      # @param text [String, Proxy::HTTP, Proxy::SOCKS5]
      # @return [Proxy::HTTP, Proxy::SOCKS5]
      # @raise [UsageError] for what is no address of a proxy
      # @raise [UnsupportedError]
      def parse(text)
        return text if [HTTP, SOCKS5].include?(text.class)
        raise UsageError, "a proxy is given as a String, #{FORMS}; not as a #{text.class}" unless text.is_a?(String) || uri?(text)

        address = Address.parse(text.to_s, FORMS)
        case address.scheme
        when "http" then HTTP.new(address.endpoint(80), address.credentials)
        when "socks5" then SOCKS5.new(address.endpoint(1080), address.credentials, remote_dns: false)
        when "socks5h" then SOCKS5.new(address.endpoint(1080), address.credentials, remote_dns: true)
        else raise unknown(address)
        end
      end

      # The proxy that the environment names for an origin, as curl, Go and Ruby's own URI read it: see {Environment}.
      # @param origin [Origin]
      # @param env [#[]]
      # @return [Proxy::HTTP, Proxy::SOCKS5, nil]
      # @raise [UsageError] that names the variable
      def from_environment(origin, env = ENV)
        name, text = Environment.new(env).proxy_for(origin)
        text && parse(text)
      rescue UsageError, UnsupportedError => e
        raise e.class, "the environment variable #{name}: #{e.message}"
      end

      # @api private
      def uri?(object) = object.respond_to?(:scheme) && object.respond_to?(:host)

      # @api private
      def unknown(address)
        reason = UNSUPPORTED[address.scheme]
        return UnsupportedError.new("the proxy #{address}: #{reason}") if reason

        UsageError.new("the proxy #{address}: #{address.scheme.inspect} is no scheme of a proxy; give #{FORMS}")
      end
    end
  end
end
