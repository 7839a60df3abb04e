# frozen_string_literal: true

require "plait/mechanisms/base"
require_relative "hooks"
require_relative "proxy"
require_relative "retries"

module Plait
  module HTTP
    # Ractors share no object, and connections, TLS and the pool are objects that all calls share.
    module Ractors
      class << self
        # @raise [UnsupportedError] in a ractor that is not the main one
        def refuse_others! = (raise refusal unless MainRactor.here?)

        def refusal
          UnsupportedError.new("a ractor can't use the connections of Plait::HTTP: for more than one core use on: :processes, " \
                               "or [:processes, :fibers]")
        end
      end
    end

    # The options of a {Client}, checked.
    class Options
      NAMES = %i[base headers timeout retries redirects proxy tls cookies compression auth max_body limits strict http2 pool
                 connector public_only hooks logger unix repair_urls refresh netrc].freeze
      # A client reads longer heads than a server does: curl takes 300 kB.
      LIMITS = { head: 300 * 1024, headers: 1_000 }.freeze
      # Connections: as many to one origin, and in all, as callers need at once; `per_key` is per origin.
      POOL = { per_key: 16_384, max: 16_384, max_idle: nil, idle_timeout: 30, wait: 60 }.freeze
      # The options of {Io::TLS::Client}, which is loaded on first use.
      TLS = %i[verify verify_hostname ca_file ca_path cert_store alpn min_version certificate key chain ciphers hostname
               sessions].freeze
      # The options of {Io::Connector} that a client may set.
      CONNECTOR = %i[resolver stagger nodelay keepalive local_address local_port].freeze
      AGENT = "plait/#{VERSION}".freeze

      # @raise [UsageError]
      def self.build(given) = new(**UsageError.check_names(given, NAMES, "a client"))

      # As {Client#initialize} describes them. `proxy`: nil: the environment's; `hooks`: nil: there are none.
      attr_reader :base, :headers, :timeouts, :retries, :redirects, :proxy, :tls, :cookies, :compression, :auth, :limits,
                  :http2, :pool, :connector, :public_only, :hooks, :repair_urls, :netrc

      def initialize(base: nil, headers: nil, timeout: nil, retries: 0, redirects: Redirects::LIMIT, proxy: nil, tls: {},
                     cookies: nil, compression: true, auth: nil, max_body: nil, limits: {}, strict: false, http2: false,
                     pool: {}, connector: {}, public_only: false, hooks: nil, logger: nil,
                     unix: nil, repair_urls: false, refresh: nil, netrc: nil)
        @repair_urls = repair_urls
        @base = base && URL.parse(repair_urls ? URL.repair(base) : base)
        @headers = Headers.new(headers)
        @timeouts = Timeouts.from(timeout)
        @retries = Retries.from(retries)
        @redirects = Redirects.from(redirects)
        @cookies = cookies == true ? CookieJar.new : jar(cookies)
        @compression = compression
        @auth = Auth.prepared(auth, refresh)
        @netrc = Auth::Netrc.from(netrc)
        @http2 = http2
        @public_only = public_only
        @hooks = Hooks.from(hooks, logger)
        @limits = limits_of(limits, max_body, strict)
        take_wiring(proxy, tls, pool, connector)
        take_unix(unix) if unix
        freeze
      end

      # @return [String] without passwords and keys
      def inspect = "#<#{self.class} #{base}>"

      private

      def take_wiring(proxy, tls, pool, connector)
        @proxy = proxy && Proxy.parse(proxy)
        @tls = tls_of(tls)
        @pool = POOL.merge(check(:pool, pool, POOL.keys)) { |name, _, value| check_number(name, value) }
        @connector = check(:connector, connector, CONNECTOR)
      end

      def take_unix(path)
        clash = { proxy: @proxy, public_only: @public_only }.find { |_, value| value }
        raise UsageError, "a client takes unix: or #{clash.first}:, not both" if clash

        @proxy = Proxy::UnixSocket.new(path)
      end

      def jar(cookies)
        return cookies || nil if !cookies || (cookies.respond_to?(:add) && cookies.respond_to?(:header_for))

        raise UsageError, "cookies: takes true, or a Plait::HTTP::CookieJar, not #{cookies.class}"
      end

      def tls_of(tls)
        return tls if tls.respond_to?(:handshake)

        tls.nil? ? {} : check(:tls, tls, TLS)
      end

      def limits_of(limits, max_body, strict)
        return limits if limits.is_a?(Protocols::HTTP1::Limits)

        given = check(:limits, limits, Protocols::HTTP1::Limits::DEFAULTS.keys)
        own = strict ? {} : LIMITS
        Protocols::HTTP1::Limits.new(lenient: !strict, **own, **given, **(max_body.nil? ? {} : { body: max_body }))
      end

      def check(name, given, known)
        raise UsageError, "#{name}: takes a Hash of #{known.join(", ")}, not #{given.inspect}" unless given.is_a?(Hash)

        UsageError.check_names(given, known, "#{name}:")
      end

      def check_number(name, value)
        right, words = case name
                       when :per_key, :max then [value.is_a?(Integer) && value.positive?, "1 or more"]
                       when :max_idle then [value.nil? || (value.is_a?(Integer) && value >= 0), "0 or more, or nil"]
                       else [value.nil? || (value.is_a?(Numeric) && value >= 0), "seconds, or nil"]
                       end
        return value if right

        raise UsageError, "pool: #{name} must be #{words}, not #{value.inspect}"
      end
    end
    private_constant :Ractors, :Options
  end
end
