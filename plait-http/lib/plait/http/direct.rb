# frozen_string_literal: true

require_relative "direct/draft"
require_relative "exchange"

module Plait
  module HTTP
    # The short way of an ordinary call: one head out of the route's lines and the call's own, one exchange, and the response is
    # for the caller. A call that needs more gets an {Exchange}: before its request is sent, or with the first answer or error.
    class Direct
      SLASH = "/".ord
      ABSOLUTE = %r{\Ahttps?://}i
      # The first character of a relative path that is no dot, and no scheme before it.
      NAME = /\A\w[^:]*\z/
      # Kinds of `timeout:` that are kept; raising it costs memory.
      KNOWN = 32
      CODING = /^content-encoding:[ \t]*([^\r\n]*)/i
      LOCATION = /^location:[ \t]*([^\r\n]*)/i
      VISIBLE = /\A[\x21-\x7e]+\z/

      def initialize(client)
        @client = client
        @connections = client.connections
        @routes = client.routes
        settings = client.settings
        @timeouts = settings.timeouts
        @jar = settings.cookies
        @known = {}.freeze
        take_base(settings.base)
        @final = settings.retries.count.zero?
        @redirects = settings.redirects
        @decodes = settings.compression && !settings.headers.mentions?("accept-encoding")
        @limit = settings.limits.body
      end

      # Called where a quick GET has ended with an error.
      # @param unanswered [Boolean] whether no byte of an answer has come
      # @param started [Float] monotonic seconds
      # @raise [Error]
      def recover(url, error, unanswered, started)
        stale = unanswered && error.is_a?(ConnectionClosed)
        long_way(url, nil, @timeouts, @timeouts.ends(nil, started)).recover(error, stale: stale)
      end

      # Called with the response to a quick GET that may need more.
      # @param started [Float] monotonic seconds
      # @raise [Error]
      def judge(url, response, started)
        finish(response, @routes.ordinary(url), url, nil, @timeouts, @timeouts.ends(nil, started), nil)
      end

      # @param url [String, Object]
      # @param options [Hash, nil]
      # @return [Response, nil] nil: this call needs the long way, and nothing was sent
      # @raise [Error]
      def call(method, url, options)
        return unless url.is_a?(String) && Interception.current.nil?

        options.nil? && method == :get && @jar.nil? ? get(url) : draft(method, url, options)
      end

      # Decodes its body, where that takes one step.
      # @return [Boolean] whether it is for the caller as it is now
      def plain?(response, draft = nil)
        return false if response.status > 299 && !final?(response.status, draft)
        return false if response.encoded? && @decodes && !decode(response)

        @jar.add(response.url, response.cookies) if @jar && response.sets_cookies?
        true
      end

      # @return [Exchange] that goes on after a first attempt
      def long_way(url, draft, timeouts, deadline, earlier = nil)
        request = draft ? draft.request : Request.new(:get, url)
        redirects = draft&.follows? == false ? Redirects.from(false) : @redirects
        Exchange.new(@client, request, timeouts: timeouts, deadline: deadline, redirects: redirects, history: earlier)
      end

      private

      def get(url)
        quick = @connections.cache.get(self, @routes.last, url, @timeouts) unless @origin
        return quick if quick

        url = absolute(url) if @origin
        route = url && @routes.ordinary(url)
        exchange(route, url, nil, @timeouts, @timeouts.ends) if route
      end

      def draft(method, url, options)
        url = absolute(url) if @origin
        route = url && @routes.ordinary(url)
        send_draft(Draft.of(method, url, options), route) if route
      end

      def final?(status, draft) = @final && !(Redirects::STATUSES.include?(status) && (draft.nil? || draft.follows?))

      # Joins only where RFC 3986 §5.2 comes down to putting one text behind another.
      def absolute(url)
        return unless url.ascii_only?
        return url if url.match?(ABSOLUTE)
        return if url.include?("/.")
        return url.getbyte(1) == SLASH ? nil : "#{@origin}#{url}" if url.getbyte(0) == SLASH

        "#{@folder}#{url}" if @folder && url.match?(NAME)
      end

      def take_base(base)
        return if base.nil? || base.userinfo

        @origin = base.origin.prefix
        folder = base.path[%r{\A.*/}m]
        @folder = "#{@origin}#{folder}".freeze unless folder.include?("/.")
      end

      def send_draft(draft, route)
        return unless draft

        timeouts = timeouts_of(draft.timeout)
        exchange(route, draft.url, draft, timeouts, timeouts.ends) if draft.compose(route, cookie(route, draft.url))
      end

      # The objects of the last few kinds of `timeout:`; a caller has the same ones again and again.
      def timeouts_of(spec)
        return @timeouts if spec.nil?

        @known[spec] || Timeouts.from(spec, @timeouts).tap { |timeouts| remember(spec, timeouts) }
      end

      def remember(spec, timeouts)
        known = @known.size < KNOWN ? @known : {}
        @known = known.merge((spec.frozen? ? spec : spec.dup.freeze) => timeouts).freeze
      end

      def cookie(route, url)
        return @jar&.header_for(url) unless @jar.instance_of?(CookieJar)

        path = url[route.offset..][/\A[^?#]*/]
        @jar.header_for(CookieJar::Place.new(route.origin.scheme, route.origin.host, path.empty? ? "/" : path))
      end

      # @param earlier [Array<Response>, nil] the redirect that led here
      def exchange(route, url, draft, timeouts, deadline, earlier = nil) # rubocop:disable Metrics/ParameterLists -- no object a call
        stale = false
        response = @connections.with(route, timeouts, deadline) do |wire, used|
          draft ? draft.send_on(wire, timeouts, deadline) : wire.get(url, route.offset, route.block, timeouts, deadline)
        rescue ConnectionClosed
          stale = @connections.stale?(wire, used: used)
          raise
        end
        finish(response, route, url, draft, timeouts, deadline, earlier)
      rescue Error => e
        raise if response

        long_way(url, draft, timeouts, deadline, earlier).recover(e, stale: stale)
      end

      def finish(response, route, url, draft, timeouts, deadline, earlier) # rubocop:disable Metrics/ParameterLists -- see exchange
        if plain?(response, draft)
          response.redirects = earlier if earlier
          return response
        end

        target = redirected(response, route, url, draft) unless earlier
        draft = draft.moved(target, route) if target && draft
        return exchange(route, target, draft, timeouts, deadline, [response]) if target

        long_way(url, draft, timeouts, deadline, earlier).finish(response)
      end

      # @return [String, nil] where a first redirect leads to, within the same origin and to another URL; nil: {Exchange} judges
      def redirected(response, route, url, draft)
        return unless repeats?(response, url, draft)

        location = only(response, LOCATION)
        return if location.nil? || location.include?("/.") || !location.match?(VISIBLE)

        path = location.getbyte(0) == SLASH && location.getbyte(1) != SLASH
        target = path ? "#{route.prefix}#{location}" : location.force_encoding(Encoding::UTF_8)
        target if route.serves?(target) && target != url
      end

      def repeats?(response, url, draft)
        follows = Redirects::STATUSES.include?(response.status) && @redirects.limit.positive?
        follows && @final && @jar.nil? && !url.include?("#") && (draft.nil? || draft.repeats?)
      end

      # @return [String, nil] the value of a field; nil: there are several
      def only(response, pattern)
        head = response.head_bytes
        found = pattern.match(head)
        found[1].rstrip unless found.nil? || pattern.match?(head, found.end(0))
      end

      # A short gzip'd body, as nearly all are. Any other, and a broken one, is for {Exchange}.
      def decode(response)
        body = response.body
        return true if body.empty?
        return false if response.status == 206 || (@limit && body.bytesize * Codings::Whole::GROWTH > @limit)

        plain = Codings::Whole.gunzip(body) if only(response, CODING)&.casecmp?("gzip")
        return false unless plain

        response.body = plain
        response.decoded = true
      end
    end
    private_constant :Direct
  end
end
