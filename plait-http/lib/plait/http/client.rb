# frozen_string_literal: true

require_relative "connections"
require_relative "direct"
require_relative "exchange"
require_relative "exchange/open_exchange"
require_relative "fan_out"
require_relative "hooks"
require_relative "options"
require_relative "retries"
require_relative "routes"
require_relative "verbs"

module Plait
  module HTTP
    # Sends requests and keeps the connections: one client for any number of threads and fibers, and for the children of a
    # fork, which start with none of the connections.
    #
    # @example
    #   api = Plait::HTTP::Client.new(base: "https://api.example", auth: {bearer: token}, timeout: {total: 5}, retries: 2)
    #   api.get("/users/1").json
    #   api.post("/users", json: {name: "Ada"}).raise_for_status!
    #   api.get("/big") { |response| response.each_piece { |piece| file.write(piece) } }
    #   api.fan_out(paths, limit: 256) { |response| … }
    #   api.close
    class Client
      include Verbs

      # Options of the connections; clients that differ in one of them share none.
      OF_CONNECTIONS = %i[proxy tls limits max_body strict http2 pool connector public_only unix].freeze
      private_constant :OF_CONNECTIONS

      # @return [Options]
      attr_reader :settings
      # @return [Timeouts]
      attr_reader :timeouts
      # @api private
      attr_reader :connections, :heads, :routes, :direct

      # @param options [Hash]
      # @option options [String, URI, URL, nil] :base relative URLs are resolved against it
      # @option options [Hash, Headers, nil] :headers sent with every request
      # @option options [Numeric, Hash, Timeouts, nil] :timeout seconds: of all, or {connect: 10, first_byte: 60, read: 60,
      #   write: as read, total: nil}; each may be nil
      # @option options [Integer, Hash, Retries] :retries attempts after the first one (0), see {Retries#initialize}
      # @option options [Integer, Boolean, Hash, Redirects] :redirects hops that are followed (10), see {Redirects#initialize}
      # @option options [String, false, nil] :proxy "http://user:password@host:port", "socks5://…"; nil: the
      #   environment's (http_proxy, no_proxy …); false: none
      # @option options [Hash, Io::TLS::Client] :tls see {Io::TLS::Client#initialize}: verify, ca_file, certificate, key …
      # @option options [CookieJar, true, nil] :cookies true: a jar of its own
      # @option options [Boolean] :compression ask for compressed bodies, and give them out decoded (true)
      # @option options [Array, Hash, String, #call, nil] :auth see {Auth.header}; for the origin of :base, without one for
      #   every origin that is asked directly
      # @option options [#call, nil] :refresh is given a response with status 401 to the client's credentials, and returns new
      #   ones as of :auth: the call is repeated once, and later calls use them; nil: the response is the caller's
      # @option options [true, String, nil] :netrc users and passwords for hosts without others: true: of the file that NETRC
      #   names or ~/.netrc; else its path
      # @option options [Integer, nil] :max_body bytes of a body, decoded too (1 GiB)
      # @option options [Hash, Protocols::HTTP1::Limits] :limits of a server's answer, see {Protocols::HTTP1::Limits}: head,
      #   headers, trailer …; {body: nil}: a body may have any length
      # @option options [Boolean] :strict refuse answers that break a rule which curl lets pass (false), see
      #   {Protocols::HTTP1::Repair}
      # @option options [Boolean] :http2 offer HTTP/2 to origins with TLS (false)
      # @option options [Hash] :pool per_key: connections to an origin, max: in all, max_idle: unused ones that are kept (half
      #   of the descriptors that the process may have), idle_timeout: seconds for which one is (30), wait: seconds for a
      #   free one (60)
      # @option options [Boolean] :public_only refuse addresses of this machine, of private networks and of links (false), after
      #   their names are resolved, behind redirects too: for URLs that strangers have written
      # @option options [String, nil] :unix the path of a UNIX socket: all requests go to it, whatever host their URLs name
      # @option options [Boolean] :repair_urls take URLs as people write them (false), see {URL.repair}
      # @option options [Hash, Object, Array, nil] :hooks {before: …, after: …, error: …}, an object with these methods, or
      #   several such hooks: each is given the {Call}, see {Hooks}
      # @option options [Logger, nil] :logger gets a line for each call, without passwords and tokens
      # @option options [Hash] :connector see {Io::Connector#initialize}: resolver, keepalive, local_address …
      # @raise [UsageError]
      # @raise [UnsupportedError] in a ractor
      def initialize(**options)
        Ractors.refuse_others!
        take(options, nil)
      end

      # A client for the time of a block.
      # @param options [Hash] see {#initialize}
      # @yieldparam client [Client]
      # @return [Object] the block's value
      def self.open(**options)
        client = new(**options)
        yield client
      ensure
        client&.close
      end

      # @param url [String, URI, URL]
      # @param options [Hash, nil] see {#request}; a Hash or keywords
      # @return [Response]; with a block: the block's value
      # @raise (see #request)
      def get(url, options = nil, &block) = request(:get, url, options, &block)

      # An ordinary call takes the short way, see {Direct}.
      # @param method [Symbol, String]
      # @param url [String, URI, URL]
      # @param options [Hash, nil] a Hash or keywords: headers, query, body, json, form, multipart, auth, timeout and allow_body
      #   as of {Request#initialize}, and
      # @option options [Object] :redirects instead of the client's, as in {#initialize}; false or 0: none
      # @option options [Object] :retries instead of the client's, as in {#initialize}; false or 0: none
      # @yieldparam response [Response] before its body is read: {ResponseMethods#each_piece} reads it. Leaving the block by
      #   an exception or `break` closes the connection; a part that the block leaves unread is dropped.
      # @return [Response]; with a block: the block's value
      # @raise [UsageError, LocalProtocolError] for a request that can't be sent: nothing was
      # @raise [ConnectionError, TimeoutError, RemoteProtocolError] for a failure on the way
      # @raise [RedirectError]
      def request(method, url, options = nil, &block)
        options = keywords(options)
        return observe(method, url, options, &block) if @observes

        (@direct.call(method, url, options) unless block) || long_way(method, url, options || {}, &block)
      end

      # A response whose body is not read yet, without a block around it: {ResponseMethods#each_piece} or
      # {ResponseMethods#each_line} reads it, once. Its end, an early end of reading, and {ResponseMethods#close} give the
      # connection back. One that is forgotten keeps its connection until the garbage collector finds it.
      # @param (see #request)
      # @return [Response]
      # @raise (see #request)
      def stream(method, url, options = nil)
        raise UsageError, "stream takes no block: it returns the response; get and request take one" if block_given?

        options = keywords(options) || {}
        return open_exchange(method, url, options) unless @observes

        watch(method, url, options) { |target, given, call| answered(call, open_exchange(method, target, given)) }
      end

      # @param request [Request, String, URI, Hash]
      # @return (see #request)
      # @api private
      def perform(request, timeouts: @timeouts, deadline: nil, redirects: nil, retries: nil, &block)
        request = Request.from(request, base: @settings.base)
        exchange = exchange_of(Exchange, request, timeouts: timeouts, deadline: deadline, redirects: redirects, retries: retries)
        block ? exchange.stream(&block) : exchange.call
      end

      # A request of a fan-out, where a client has hooks or repairs URLs.
      # @param request [Request, String, URI, Hash]
      # @return [Response]
      # @api private
      def perform_one(request, **limits)
        request = Request.from(@settings.repair_urls ? repaired(request) : request, base: @settings.base)
        return perform(request, **limits) unless @hooks

        @hooks.around(Call.new(request.method, request.url)) do |call|
          call.answer(perform(request.with_headers(call.headers), **limits))
        end
      end

      # Closes the connections: idle ones now, busy ones when their exchange is over. A client that
      # {#with} has made leaves shared ones open.
      # @return [void]
      def close = (@connections.close unless @shares)

      # @example
      #   as_ann = api.with(auth: {bearer: token}, headers: {"X-Request-Id" => id}, timeout: 2)
      # @param options [Hash] see {#initialize}; headers are added to this client's, any other option replaces its own
      # @return [Client] that shares the connections of this one, unless an option is about these: proxy, tls, pool …
      # @raise [UsageError]
      def with(**options)
        given = { **@given, cookies: @settings.cookies, auth: @settings.auth, **options }
        given[:headers] = @settings.headers.merge(options[:headers]) # nil: this client's
        shared = @connections unless options.keys.intersect?(OF_CONNECTIONS)
        self.class.allocate.tap { |client| client.send(:take, given, shared) }
      end

      # Sends many requests at once. See {FanOut}.
      #
      # @param requests [Enumerable<String, URI, Request, Hash>] may be lazy and endless: it is read as far as room becomes
      #   free; a Hash has `url:` and the options of {Request#initialize}
      # @param options [Hash, nil] the keywords, as one Hash
      # @param limit [Integer, Array<Integer>, nil] requests in flight at most, each on a connection of its own; nil: 64 on
      #   fibers and threads, else the mechanism's default
      # @param timeout [Numeric, Hash, nil] for each request, instead of the client's
      # @param how [Hash]
      # @option how [Integer, nil] :per_origin of these, to one origin
      # @option how [Symbol, Array<Symbol>, nil] :on nil: fibers where Ruby has them, the cheapest way; else see {Plait.map}
      # @option how [Symbol] :on_error :raise (the first failure ends it all), :collect ({Outcome}s instead of responses) or :skip
      # @option how [Numeric, Deadline, nil] :deadline seconds for all of it
      # @option how [#call, nil] :progress called with (done, total or nil) after each request
      # @yieldparam response [Response, Outcome] in the order in which they come, in the calling thread; leaving the block
      #   early cancels the rest
      # @return [Array<Response, Outcome>] in the order of the requests; with a block: nil
      # @raise [Exception] with `on_error: :raise`, the first failure, marked by {Failure}
      # @raise [UsageError]
      def fan_out(requests, options = nil, limit: nil, timeout: nil, **how, &block)
        return fan_out(requests, limit: limit, timeout: timeout, **how, **keywords(options), &block) if options

        FanOut.new(self, requests, limit: limit, timeouts: Timeouts.from(timeout, @timeouts), **how).run(&block)
      end

      # @return [Hash{Symbol => Integer}] connections: idle, busy, waiting; so far: connected, reused, stale …
      def statistics = @connections.statistics

      # @return [String]
      def inspect = "#<#{self.class}#{" #{@settings.base}" if @settings.base} #{statistics}>"

      private

      def take(options, connections)
        @given = options
        @settings = Options.build(options)
        @timeouts = @settings.timeouts
        @hooks = @settings.hooks
        @observes = !@hooks.nil? || @settings.repair_urls
        @heads = Heads.new(@settings)
        @shares = !connections.nil?
        @connections = connections || Connections.new(@settings)
        @routes = Routes.new(@settings, @heads)
        @direct = Direct.new(self)
      end

      def observe(method, url, options, &block)
        watch(method, url, options) do |target, given, call|
          next long_way(method, target, given || {}) { |response| block.call(answered(call, response)) } if block

          answered(call, @direct.call(method, target, given) || long_way(method, target, given || {}))
        end
      end

      # @yieldparam call [Call, nil]
      def watch(method, url, options)
        url = URL.repair(url) if @settings.repair_urls
        return yield(url, options, nil) unless @hooks

        @hooks.around(Call.new(method.to_s.upcase, URL.parse(url, base: @settings.base))) do |call|
          yield(url, with_headers(options, call.headers), call)
        end
      end

      def repaired(request)
        case request
        when Request then request
        when Hash then { **request, url: URL.repair(request[:url]) }
        else URL.repair(request)
        end
      end

      def answered(call, response) = call ? call.answer(response) : response

      def with_headers(options, headers)
        return options if headers.empty?

        own = options && options[:headers]
        { **options.to_h, headers: own ? Headers.new(own).merge(headers) : headers }
      end

      def long_way(method, url, options, &block)
        perform(request_of(method, url, options), **options.slice(:redirects, :retries), &block)
      end

      def open_exchange(method, url, options)
        exchange_of(OpenExchange, request_of(method, url, options), **options.slice(:redirects, :retries)).open
      end

      def request_of(method, url, options)
        Request.new(method, url, base: @settings.base, **options.except(:redirects, :retries))
      end

      def exchange_of(kind, request, timeouts: @timeouts, deadline: nil, redirects: nil, retries: nil)
        kind.new(self, request, timeouts: timeouts, deadline: deadline,
                                redirects: redirects.nil? ? @settings.redirects : Redirects.from(redirects),
                                retries: retries.nil? ? @settings.retries : Retries.from(retries))
      end
    end
  end
end
