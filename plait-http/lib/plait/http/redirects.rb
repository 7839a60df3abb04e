# frozen_string_literal: true

module Plait
  module HTTP
    # Which responses are followed elsewhere (RFC 9110 §15.4), how far, and what is left behind on the way.
    class Redirects
      KEYS = %i[limit downgrade].freeze
      # Hops, where nothing else is said.
      LIMIT = 10
      STATUSES = [301, 302, 303, 307, 308].freeze
      # Credentials: they never go to another origin.
      CREDENTIALS = %w[authorization cookie proxy-authorization].freeze
      # Of a body that is not sent any more.
      ABOUT_BODY = %w[content-type content-length content-encoding content-language content-location content-md5 digest
                      content-digest expect transfer-encoding trailer].freeze
      HOST_IS_RAW = %r{\A(?:[^:/?#]+:)?//[^/?#]*[^\x21-\x7e]}n
      private_constant :HOST_IS_RAW

      # @param spec [nil, true, false, Integer, Hash, Redirects] hops, or a Hash of {KEYS}
      # @return [Redirects]
      # @raise [UsageError]
      def self.from(spec)
        case spec
        when Redirects then spec
        when nil, true then new
        when false then new(limit: 0)
        when Integer then new(limit: spec)
        when Hash then new(**UsageError.check_names(spec, KEYS, "redirects:"))
        else raise UsageError, "redirects: takes a number of hops or a Hash of #{KEYS.join(", ")}, not #{spec.inspect}"
        end
      end

      # @return [Integer] hops; 0: a redirect is a response as any other
      attr_reader :limit

      # @param limit [Integer] hops
      # @param downgrade [Boolean] whether an encrypted origin may send us to one that is not
      # @raise [UsageError]
      def initialize(limit: LIMIT, downgrade: false)
        raise UsageError, "redirects: must be 0 or more hops, not #{limit.inspect}" unless limit.is_a?(Integer) && limit >= 0

        @limit = limit
        @downgrade = downgrade
        freeze
      end

      # @return [Boolean] whether it sends us elsewhere, and we go
      def follow?(response) = @limit.positive? && STATUSES.include?(response.status) && !response["location"].nil?

      # @param response [Response] to it, one that {follow?} is true of
      # @param hops [Integer] made so far
      # @param body [Upload, nil] of the request
      # @return [Request] the next one
      # @raise [RedirectError] when it can't be followed
      # @raise [TooManyRedirects]
      def next(request, response, hops, body: nil)
        raise TooManyRedirects.new(too_many(request, response), response: response) if hops >= @limit

        url = target(request, response)
        refuse_downgrade(request, url, response)
        method = method_after(request, response.status)
        body = nil if method != request.method
        refuse_body(request, response) unless body.nil? || body.replayable?
        build(request, method, url, body)
      end

      private

      def target(request, response)
        locations = response.headers.get_all("location").uniq
        raise RedirectError.new("#{at(request, response)} has #{locations.size} Locations", response: response) if locations[1]

        URL.parse(encoded(locations.first), base: request.url).inherit(request.url)
      rescue UsageError => e
        raise RedirectError.new("#{at(request, response)} redirects to an invalid URL: #{e.message}", response: response)
      end

      def encoded(location) = HOST_IS_RAW.match?(location.b) ? location : URL.repair(location)

      def refuse_downgrade(request, url, response)
        return if @downgrade || !request.origin.tls? || url.origin.tls?

        raise RedirectError.new("#{at(request, response)} redirects from https to #{url}, which is not encrypted: request " \
                                "that URL yourself, or allow it by redirects: {downgrade: true}", response: response)
      end

      def refuse_body(request, response)
        raise RedirectError.new("#{at(request, response)} redirects to #{location(response)} with the same body, which can't " \
                                "be sent again: give it as a String, a file or another IO that can rewind", response: response)
      end

      # §15.4.4: 303 asks for the answer elsewhere. §15.4.2 and 3: with 301 and 302 clients make a GET of a POST.
      def method_after(request, status)
        return "GET" if status == 303 && request.method != "HEAD"
        return "GET" if status < 303 && request.method == "POST"

        request.method
      end

      def build(request, method, url, body)
        auth = request.auth if url.origin == request.origin || request.auth == false
        Request.new(method, url, headers: headers(request, url, method), body: body, auth: auth, timeout: request.timeout,
                                 allow_body: true)
      end

      def headers(request, url, method)
        left = method == request.method ? [] : ABOUT_BODY
        left += [*CREDENTIALS, "host"] if url.origin != request.origin
        left.each_with_object(request.headers.dup) { |name, headers| headers.delete(name) }
      end

      def too_many(request, response)
        "#{at(request, response)} redirects to #{location(response)}, but #{@limit} redirects were followed before " \
          "(redirects: #{@limit})"
      end

      def location(response) = Secrets.hide(response["location"])

      def at(request, response) = "#{request.method} #{request.url} (#{response.status})"
    end
  end
end
