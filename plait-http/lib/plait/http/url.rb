# frozen_string_literal: true

require "plait/io/endpoint"
require_relative "url/repair"

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

    # An address of HTTP (RFC 3986, RFC 9110 §4.2), checked before anything is sent. Frozen.
    class URL
      # For messages: a URL as it should be.
      FORMS = "give one like http://host/path or https://host:8443/path?query"
      # RFC 3986, appendix B
      PARTS = %r{\A(?:(?<scheme>[^:/?\#]+):)?(?://(?<authority>[^/?\#]*))?(?<path>[^?\#]*)
                 (?:\?(?<query>[^\#]*))?(?:\#(?<fragment>.*))?\z}mx
      AUTHORITY = /\A(?:(?<userinfo>.*)@)?(?:\[(?<ipv6>[^\]]*)\]|(?<host>[^:\[\]]*))(?::(?<port>\d*))?\z/m
      HOST = /\A(?!-)(?:[a-z0-9_.~!$&'()*+,;=-]|%\h\h)+\z/i
      IPV6 = /\A\h*:[\h:.]*(?:%[\w.~-]+)?\z/
      ZONE = /%(?:25)?(?=.)/ # RFC 6874 §2; a bare % is what people write
      # Browsers send | ^ { } " as they are, and so does this.
      FORBIDDEN = /[^\x21-\x7e]/
      FORBIDDEN_IN_QUERY = /[^\x21-\x7e]|\#/n
      # Names of characters that a message can't show.
      NAMES = { " " => "a space", "\n" => "a line feed", "\r" => "a carriage return", "\t" => "a tab" }.freeze
      # Bytes; no name is longer (RFC 1035 §2.3.4).
      LONGEST_HOST = 255
      private_constant :PARTS, :AUTHORITY, :HOST, :IPV6, :ZONE, :FORBIDDEN, :FORBIDDEN_IN_QUERY, :NAMES, :LONGEST_HOST

      class << self
        # @param url [String, URL, URI]
        # @param base [URL, nil] the base of a relative one (RFC 3986 §5)
        # @return [URL]
        # @raise [UsageError] with the mistake and its place
        def parse(url, base: nil)
          return url if url.is_a?(URL)

          text = url.to_s
          text = text.encode(Encoding::UTF_8) unless text.encoding.ascii_compatible?
          check(text) unless base && url == "" # the same document, RFC 3986 §4.4
          parts = PARTS.match(text)
          parts[:scheme] || base.nil? ? absolute(text, parts) : relative(base, parts)
        end

        # For URLs as people write them: a name in any script becomes Punycode (RFC 3492), raw spaces and letters are
        # percent-encoded, blanks around it go. What is encoded already stays.
        # @example
        #   URL.repair("http://bücher.example/a b?q=ä")   # => "http://xn--bcher-kva.example/a%20b?q=%C3%A4"
        # @param url [String, URI, URL]
        # @return [String]
        # @raise [UsageError] for a name that has no such form
        def repair(url) = Repair.call(url.to_s)

        private

        def check(text)
          raise UsageError, "a URL is missing; #{FORMS}" if text.empty?
          raise UsageError, "#{safe(text.b)} is not valid UTF-8: percent-encode its bytes" unless text.valid_encoding?

          place = text.index(FORBIDDEN) or return
          raise UsageError, "#{safe(text)} has #{named(text[place])} at character #{place + 1}, which can't be in a URL; " \
                            "#{advice(text[place])}"
        end

        def named(character) = NAMES.fetch(character, character.inspect)

        def advice(character)
          encoded = character.bytes.map { |byte| format("%%%02X", byte) }.join
          "write #{encoded} in a path or a query#{", and a host in Punycode (xn--…)" unless character.ascii_only?}"
        end

        def absolute(text, parts)
          scheme = parts[:scheme]&.downcase&.to_sym or raise UsageError, "#{safe(text)} has no scheme; #{FORMS}"
          raise UsageError, "#{safe(text)}: #{scheme.inspect} is no scheme of HTTP; #{FORMS}" unless Origin::PORTS.key?(scheme)

          build(scheme, authority(text, parts[:authority].to_s), parts)
        end

        def authority(text, authority)
          parts = AUTHORITY.match(authority) or raise UsageError, "#{safe(text)}: the host is malformed; #{FORMS}"
          host = parts[:ipv6]&.sub(ZONE, "%") || parts[:host]
          raise UsageError, "#{safe(text)} has no host; #{FORMS}" if host.empty?
          raise UsageError, "a URL has a host of #{host.bytesize} bytes; no name is that long" if host.bytesize > LONGEST_HOST

          possible = parts[:ipv6] ? IPV6.match?(host) : HOST.match?(host)
          raise UsageError, "#{safe(text)}: #{host.inspect} can't be a host; #{FORMS}" unless possible

          [host, port(text, parts[:port]), userinfo(text, parts[:userinfo])]
        end

        def port(text, digits)
          return if digits.nil? || digits.empty?
          return digits.to_i if (1..65_535).cover?(digits.to_i)

          raise UsageError, "#{safe(text)} names port #{digits}; ports go from 1 to 65535"
        end

        # The last @ ends it; other parsers of URLs take the first one, or a backslash, for the end.
        def userinfo(text, userinfo)
          return unless userinfo

          place = userinfo.index(/[@\\]/)
          code = { "@" => "%40", "\\" => "%5C" }.fetch(userinfo[place]) if place
          raise UsageError, "#{safe(text)} has a user or password with #{userinfo[place]} in it: write #{code}" if code

          userinfo.split(":", 2).map { |word| decode(word) }.then { |user, password| [user.to_s, password.to_s] }
        end

        def decode(word) = word.b.gsub(/%\h\h/) { |byte| byte[1, 2].hex.chr }.force_encoding(Encoding::UTF_8)

        # Also without a scheme, where a user seems to be one.
        def safe(text) = Secrets.hide(text).sub(%r{\A[^/?\#]*@}, "...@").inspect

        def build(scheme, authority, parts)
          host, port, userinfo = authority
          new(Origin.new(scheme, host, port), parts[:path], parts[:query], fragment: parts[:fragment], userinfo: userinfo)
        end

        # RFC 3986 §5.2.2
        def relative(base, parts)
          return build(base.scheme, authority("//#{parts[:authority]}", parts[:authority]), parts) if parts[:authority]

          query = parts[:query]
          path = parts[:path]
          if path.empty?
            path = base.path
            query ||= base.query
          elsif !path.start_with?("/")
            path = base.path[%r{\A.*/}m].to_s + path
          end
          new(base.origin, without_dots(path), query, fragment: parts[:fragment], userinfo: base.userinfo)
        end

        # §5.2.4
        def without_dots(path)
          kept = []
          segments = path.split("/", -1)
          segments.each { |segment| segment == ".." ? (kept.pop if kept.size > 1) : (kept << segment unless segment == ".") }
          kept << "" if %w[. ..].include?(segments.last)
          kept.join("/")
        end
      end

      # @return [Origin]
      attr_reader :origin
      # @return [String] begins with "/"
      attr_reader :path
      # @return [String, nil] without the question mark
      attr_reader :query
      # @return [String, nil]
      attr_reader :fragment
      # @return [Array(String, String), nil] user and password, decoded
      attr_reader :userinfo
      # @return [String] the target of a request: path and query
      attr_reader :target

      # @api private
      def initialize(origin, path, query, fragment: nil, userinfo: nil)
        @origin = origin
        @path = (path.start_with?("/") ? path : "/#{path}").freeze
        @query = query&.dup&.freeze
        @fragment = fragment&.dup&.freeze
        @userinfo = userinfo&.freeze
        @target = (query ? "#{@path}?#{query}" : @path).freeze
        freeze
      end

      # @return [Symbol]
      def scheme = @origin.scheme

      # @return [String]
      def host = @origin.host

      # @return [Integer]
      def port = @origin.port

      # @param text [String] added to the query, encoded
      # @return [URL]
      # @raise [UsageError] for characters that a query can't have
      def with_query(text)
        place = text.b.index(FORBIDDEN_IN_QUERY)
        raise UsageError, "#{Secrets.hide(text).inspect} can't be a query: see character #{place + 1}; a Hash is encoded" if place

        query = [@query, text].compact.reject(&:empty?).join("&")
        query = @query if query.empty?
        self.class.new(@origin, @path, query, fragment: @fragment, userinfo: @userinfo)
      end

      # @param other [URL] which has led here by a redirect
      # @return [URL] with the other's fragment, if it has none (RFC 9110 §10.2.2)
      def inherit(other)
        return self if @fragment || other.fragment.nil?

        self.class.new(@origin, @path, @query, fragment: other.fragment, userinfo: @userinfo)
      end

      # @return [String] without user, password and fragment
      def whole = @fragment ? "#{self}##{@fragment}" : to_s

      # @return [String] without user, password and fragment
      def to_s = "#{@origin.prefix}#{@target}"

      # @return [Boolean]
      def ==(other) = other.is_a?(URL) && to_s == other.to_s && @userinfo == other.userinfo
      alias eql? ==

      # @return [Integer]
      def hash = to_s.hash

      # @return [String]
      def inspect = "#<#{self.class} #{self}>"
    end
  end
end
