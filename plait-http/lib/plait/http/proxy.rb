# frozen_string_literal: true

require "ipaddr"
require "plait/io/endpoint"
require_relative "proxy/http"
require_relative "proxy/socks5"

module Plait
  module HTTP
    # The server between a client and an origin: an HTTP proxy (RFC 9110 §9.3.6, RFC 9112 §3.2.2) or a SOCKS5 one (RFC 1928).
    #
    # @example
    #   proxy = Proxy.parse("socks5h://user:secret@localhost:1080")
    #   socket = proxy.connect(connector, origin, deadline: deadline)   # => as if it were connected to the origin
    module Proxy
      # http_proxy, https_proxy, all_proxy and no_proxy; in lower case first. This machine itself is never asked for by way
      # of a proxy.
      #
      # no_proxy is a list of hosts, divided by commas or spaces: "example.org" also stands for the names below it,
      # ".example.org" for these names alone, "example.org:8080" for one port, "10.0.0.0/8" for addresses, "*" for all.
      class Environment
        def initialize(env = ENV)
          @env = env
        end

        # @return [Array(String, String), nil] the variable and its value; nil: no proxy
        def proxy_for(origin)
          found = variables(origin.scheme).lazy.map { |name| [name, @env[name].to_s.strip] }.find { |_, value| !value.empty? }
          found unless found.nil? || direct?(origin)
        end

        private

        # A CGI program's HTTP_PROXY is the header Proxy of its request (httpoxy, CVE-2016-5385).
        def variables(scheme)
          names = ["#{scheme}_proxy", "#{scheme}_proxy".upcase, "all_proxy", "ALL_PROXY"]
          @env["REQUEST_METHOD"] ? names - ["HTTP_PROXY"] : names
        end

        def direct?(origin)
          address = address(origin.host)
          origin.host == "localhost" || address&.loopback? ||
            exceptions.any? { |entry| except?(entry, origin, address) }
        end

        def exceptions = (@env["no_proxy"] || @env["NO_PROXY"]).to_s.downcase.split(/[\s,]+/).reject(&:empty?)

        def except?(entry, origin, address)
          return true if entry == "*"

          host, port = place(entry)
          return false if port && port.to_i != origin.port

          network = address(host)
          return address && within?(address, network) if network

          host.start_with?(".") ? origin.host.end_with?(host) : ".#{origin.host}".end_with?(".#{host}")
        end

        def within?(address, network) = network.family == address.family && network.include?(address)

        # An IPv6 address has colons of its own.
        def place(entry)
          return entry.match(/\A\[(.*)\](?::(\d+))?\z/)&.captures || [entry, nil] if entry.start_with?("[")

          entry.count(":") > 1 ? [entry, nil] : entry.split(":", 2)
        end

        def address(text)
          IPAddr.new(text)
        rescue IPAddr::Error
          nil
        end
      end

      # The address of a proxy, as users write it: scheme://user:password@host:port.
      class Address
        FORM = %r{\A(?:(?<scheme>[a-z][a-z0-9+.-]*)://)?(?:(?<userinfo>[^@/?#]*)@)?(?<place>[^@/?#]+)/?\z}i

        class << self
          # @param text [String] without a scheme it is an HTTP proxy's
          # @param forms [String] the possible forms, for messages
          # @raise [UsageError] whose message has no password in it
          def parse(text, forms)
            parts = FORM.match(text.strip) if text.valid_encoding?
            raise UsageError, "#{safe(text).inspect} is no address of a proxy; give #{forms}" unless parts

            new((parts[:scheme] || "http").downcase, parts[:place], decode(parts[:userinfo]))
          end

          private

          # The password may have any character.
          def safe(text) = text.scrub.sub(%r{\A([a-z0-9+.-]*://)?.*@}im, '\1…@')

          def decode(userinfo)
            return if userinfo.nil? || userinfo.empty?

            user, password = userinfo.split(":", 2).map { |word| word.b.gsub(/%(\h\h)/) { |code| code[1, 2].hex.chr } }
            [user, password.to_s].map(&:freeze).freeze
          end
        end

        # @return [String] in lower case
        attr_reader :scheme
        # @return [Array(String, String), nil] user and password, decoded
        attr_reader :credentials

        def initialize(scheme, place, credentials)
          @scheme = scheme
          @place = place
          @credentials = credentials
        end

        def endpoint(default_port)
          Io::Endpoint.parse("tcp://#{@place}", default_port: default_port)
        rescue UsageError => e
          raise UsageError, "the proxy #{self}: #{e.message}"
        end

        # @return [String] without the credentials
        def to_s = "#{@scheme}://#{@place}"
      end

      # The forms that {parse} takes.
      FORMS = "http://host:port, socks5://host:port (names are resolved here) or socks5h://host:port (by the proxy), with " \
              "user:password@ before the host where it wants them"
      # Schemes that other clients know.
      UNSUPPORTED = {
        "https" => "TLS to the proxy itself is not supported: give it as http:// if it listens without, or as socks5://",
        "socks4" => "SOCKS 4 is not supported: give it as socks5:// if it speaks that",
        "socks4a" => "SOCKS 4 is not supported: give it as socks5h:// if it speaks that",
        "socks" => "say which SOCKS it is: socks5:// or socks5h://"
      }.freeze

      module_function

      # @raise [UsageError] for a text that is no address of a proxy
      # @raise [UnsupportedError]
      def parse(text)
        return text if [HTTP, SOCKS5, UnixSocket].include?(text.class)
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
      # @raise [UsageError] that names the variable
      def from_environment(origin, env = ENV)
        name, text = Environment.new(env).proxy_for(origin)
        text && parse(text)
      rescue UsageError, UnsupportedError => e
        raise e.class, "the environment variable #{name}: #{e.message}"
      end

      def uri?(object) = object.respond_to?(:scheme) && object.respond_to?(:host)

      def unknown(address)
        reason = UNSUPPORTED[address.scheme]
        return UnsupportedError.new("the proxy #{address}: #{reason}") if reason

        UsageError.new("the proxy #{address}: #{address.scheme.inspect} is no scheme of a proxy; give #{FORMS}")
      end

      # A UNIX socket, behind which all origins of a client are: the connection to it is one to the origin.
      class UnixSocket
        def initialize(path)
          path = path.to_path if path.respond_to?(:to_path)
          raise UsageError, "unix: takes the path of a socket, not #{path.class}" unless path.is_a?(String)

          @endpoint = Io::Endpoint.unix(path)
        end

        # @raise [ConnectError, ConnectTimeout]
        def connect(connector, _origin, deadline:, phases:) = connector.connect(@endpoint, deadline: deadline, phases: phases)

        def absolute_form?(_origin) = false

        def to_s = @endpoint.to_s
      end
    end
    private_constant :Proxy
  end
end
