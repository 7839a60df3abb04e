# frozen_string_literal: true

require_relative "proxy"

module Plait
  module HTTP
    # The heads of a client's requests: the client's fields, then the request's.
    class Heads
      BODY_EXPECTED = %w[POST PUT PATCH].freeze
      # Fields that say where a request ends, or which host it is for. Each request checks them: a wrong one would let the
      # peer take the next request for a part of this one.
      DELICATE = %w[host content-length transfer-encoding expect upgrade].freeze

      def initialize(options)
        @options = options
        @fields = Headers.new("Accept" => "*/*", "User-Agent" => options.class::AGENT)
        @fields.add("Accept-Encoding", Codings.accept) if options.compression && !part?(options.headers)
        @fields = @fields.merge(options.headers).freeze
        @bare = @fields.dup.tap { |fields| ["host", *Redirects::CREDENTIALS].each { |name| fields.delete(name) } }.freeze
      end

      # @return [String, nil] all lines but the first of a plain GET; nil when they are not the same each time
      def block(origin)
        return if !Auth.fixed?(@options.auth) || DELICATE.any? { |name| @options.headers.mentions?(name) }

        fields = Headers.new("Host" => origin.host_header).merge(@fields).merge(authorization(credentials_for(origin)))
        fields.to_s.freeze unless Protocols::HTTP1::Persistence.login_in_request?(fields)
      end

      # @param target [String] as it stands in the request line
      # @param fields [Headers] see {fields}
      # @raise [LocalProtocolError, UsageError]
      def whole(request, target, fields) = Protocols::HTTP1::Serializer.request(request.method, target, fields.to_a)

      # @param trusted [Boolean] false: a redirect has led to this origin, which gets no credentials
      # @param extra [Hash{String => String, nil}] fields that come last, such as Cookie
      # @return [Headers] all that go out with it
      # @raise [UsageError]
      def fields(request, upload: nil, trusted: true, extra: {})
        fields = frame(defaults(request, trusted).merge(request.headers), request, upload)
        fields.add("Content-Type", upload.content_type) if upload&.content_type && !request.headers.mentions?("content-type")
        extra.each { |name, value| fields.add(name, value) unless fields.key?(name) || request.headers.mentions?(name) }
        fields
      end

      # @param response [Response] a 401
      # @param since [Float] monotonic seconds: when the request's credentials were read
      # @param limit [Float, nil] monotonic seconds, for the wait until another call has renewed them
      # @return [Boolean] whether the request has other credentials now
      def renew(response, request, trusted:, since:, limit:)
        return false if request.headers.mentions?("authorization")

        auth = credentials(request, trusted)
        auth.respond_to?(:renew) && auth.renew(response, request, since, limit)
      end

      # @return [Boolean] whether compressed bodies were asked for by us, and not by the caller
      def decode?(request)
        @options.compression && [request, @options].none? { |given| given.headers.mentions?("accept-encoding") }
      end

      private

      def defaults(request, trusted)
        fields = Headers.new("Host" => request.origin.host_header).merge(trusted ? @fields : @bare)
        fields.delete("Accept-Encoding") if decode?(request) && part?(request.headers)
        return fields.set("Authorization", Auth.header(request.auth, request)) unless request.auth.nil?

        fields.merge(authorization(credentials(request, trusted), request))
      end

      def credentials(request, trusted)
        request.auth.nil? ? (credentials_for(request.origin) if trusted) : request.auth
      end

      # A request for a range asks for no content coding: a part of coded bytes can't be decoded.
      def part?(headers) = headers.key?("range")

      # With a base URL the client's credentials are for its origin, without one for all.
      def credentials_for(origin)
        return @options.auth if @options.auth && (@options.base.nil? || @options.base.origin == origin)

        @options.netrc && @options.netrc[origin.host]
      end

      def authorization(auth, request = nil) = auth && { "Authorization" => Auth.header(auth, request) }

      # The client computes the length of the body; a caller's wrong length would break the next request. A request without the
      # body that its method allows says so by a length of 0 (RFC 9110 §8.6).
      def frame(fields, request, upload)
        fields.delete("Content-Length").delete("Transfer-Encoding")
        return fields.add("Transfer-Encoding", "chunked") if upload&.chunked?

        size = upload ? upload.size : (0 if BODY_EXPECTED.include?(request.method))
        size ? fields.add("Content-Length", size.to_s) : fields
      end
    end

    # The way to one origin, and the head of a plain GET to it, made once.
    class Route
      SLASH = "/".ord
      QUESTION_MARK = "?".ord
      HASH = "#".ord

      attr_reader :origin, :proxy
      # @return [String] how its URLs begin
      attr_reader :prefix
      # @return [Integer] where in its URLs the target begins
      attr_reader :offset
      # @return [String, nil] the head of a plain GET without its first line; nil: there is nothing plain about it
      attr_reader :block

      # @param prefix [String] how its URLs begin
      # @yieldreturn [String, nil] the {block}, where there is no proxy that wants another head
      def initialize(origin, prefix = origin.prefix, proxy: nil)
        @origin = origin
        @prefix = prefix
        @offset = prefix.bytesize
        @proxy = proxy
        @block = yield unless forwarded?
        freeze
      end

      # @return [Boolean] whether it is for this URL, and nothing in it needs a closer look
      def serves?(url)
        return false unless url.start_with?(@prefix)

        next_byte = url.getbyte(@offset)
        next_byte == SLASH || next_byte.nil? || next_byte == QUESTION_MARK || next_byte == HASH
      end

      # @return [Boolean] whether a plain GET can go without a {Request}
      def plain? = !@block.nil?

      # @return [Boolean] whether requests are for the proxy to read: they name the whole URL (RFC 9112 §3.2.2)
      def forwarded? = @proxy ? @proxy.absolute_form?(@origin) : false

      def inspect = "#<#{self.class} #{@origin}#{" by way of #{@proxy}" if @proxy}>"
    end

    # The routes of a client, each made on first use. Only the newest are kept.
    class Routes
      KEPT = 1024
      PREFIX = %r{\Ahttps?://[^/?#]+\z}
      # Behind "https://" at the latest.
      AUTHORITY_AT = 8

      # @return [Route, nil] the plain one that was asked for last
      attr_reader :last

      def initialize(options, heads)
        @options = options
        @heads = heads
        @plain = options.cookies.nil?
        @routes = {}.freeze
        @lock = Mutex.new
      end

      # @return [Route, nil] for a plain GET, of URLs that begin as this one; nil where nothing is plain
      # @raise [UsageError] for a text that is no URL
      def plain(url) = @plain ? ordinary(url) : nil

      # @return [Route, nil] whose lines go with each request; nil where they are not the same each time
      # @raise [UsageError] for a text that is no URL
      def ordinary(url)
        last = @last
        return last if last&.serves?(url)

        path_at = url.index("/", AUTHORITY_AT)
        prefix = path_at ? url[0, path_at] : url
        route = @routes[prefix] || introduce(url, prefix)
        @last = route if route&.plain? # the next URL needs neither a prefix of its own nor a look into the Hash
      rescue Encoding::CompatibilityError
        nil # one in UTF-16, say
      end

      def fetch(origin) = @routes[origin.prefix] || add(origin.prefix, origin)

      private

      # As it is written: "http://host:80" is a prefix of its own.
      def introduce(url, prefix)
        return unless prefix.valid_encoding? && PREFIX.match?(prefix)

        url = URL.parse(url)
        add(prefix.dup.freeze, url.origin) unless url.userinfo
      end

      def add(prefix, origin) = @lock.synchronize { @routes[prefix] || keep(prefix, build(prefix, origin)) }

      def build(prefix, origin) = Route.new(origin, prefix, proxy: proxy_for(origin)) { @heads.block(origin) }

      # Reading needs no lock, for no Hash is ever changed.
      def keep(prefix, route)
        routes = @routes.merge(prefix => route)
        routes.shift if routes.size > KEPT
        @routes = routes.freeze
        route
      end

      def proxy_for(origin)
        case @options.proxy
        when false then nil
        when nil then Proxy.from_environment(origin)
        else Proxy.parse(@options.proxy)
        end
      end
    end
    private_constant :Heads, :Route, :Routes
  end
end
