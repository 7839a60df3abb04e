# frozen_string_literal: true

require "ipaddr"
require "plait/io/connector"
require "plait/io/pool"
require "plait/protocols/http2/frames"
require_relative "native_wire"
require_relative "pure_wire"

module Plait
  module HTTP
    # One HTTP/1.1 connection of a client: sends a request and receives its answer, without pools, redirects and retries. An
    # exchange that ends early closes it, so that no answer ever reaches another request.
    Wire = Native.available? ? NativeWire : PureWire

    # The connections of a client, kept for the next request to the same origin: in a pool, and for the busiest route in a
    # {Cache} before it.
    class Connections
      # Tells addresses of the public Internet from the special ones (RFC 6890): this machine, its network, or a cloud's own
      # network that hands out credentials.
      module PublicAddresses
        SPECIAL = %w[
          0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
          192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
          2001::/23 2001:db8::/32 2002::/16 3fff::/20
        ].map { |network| IPAddr.new(network) }.freeze
        # RFC 4291 §2.4: all global unicast addresses so far. IPv6 forms of IPv4 addresses are outside of it.
        GLOBAL = IPAddr.new("2000::/3")

        def self.call(address)
          ip = IPAddr.new(address.ip_address[/\A[^%]*/])
          (ip.ipv4? || GLOBAL.include?(ip)) && SPECIAL.none? { |network| network.family == ip.family && network.include?(ip) }
        end
      end

      # Makes connections: through a proxy, with TLS, with HTTP/2, as route and options say.
      class Dialer
        def initialize(options)
          @options = options
          @lock = Mutex.new
        end

        # @yieldparam wire [Wire, HTTP2::Wire] belongs to the block; no interrupt comes before that
        # @raise [ConnectError, ResolveError, TLSError, CertificateError, ConnectTimeout]
        def connect(route, deadline, &block)
          phases = Io::Connector::Phases.new
          take = ->(wire) { hand_over(wire, phases, &block) }
          found = if @options.http2 && route.origin.tls?
                    sharing.wire(route.origin, deadline: deadline, take: take) { dial(route, deadline, phases) }
                  else
                    dial(route, deadline, phases)
                  end
          found.is_a?(Array) ? take.call(wire(route, *found)) : found
        ensure
          phases&.close
        end

        def close = @sharing&.close

        private

        def hand_over(wire, phases)
          Uninterruptible.run do
            phases.socket = nil
            yield wire if block_given?
          end
          wire
        end

        def wire(route, socket, phases)
          endpoint = route.origin.endpoint
          wire = Native.available? && !socket.is_a?(::IO) && !NativeTLS.found? ? PureWire : Wire
          wire.new(socket, endpoint: endpoint, phases: phases, limits: @options.limits)
        end

        def dial(route, deadline, phases)
          endpoint = route.origin.endpoint
          return [connector(endpoint).connect(endpoint, deadline: deadline, phases: phases), phases] unless route.proxy

          plain.refuse_others!(endpoint, deadline: deadline)
          socket = route.proxy.connect(to_proxies, route.origin, deadline: deadline, phases: phases)
          socket = shake_hands(socket, endpoint, deadline, phases) if endpoint.tls?
          [socket, phases]
        end

        def shake_hands(socket, endpoint, deadline, phases)
          start = Deadline.now
          secure.tls.handshake(socket, endpoint, deadline: deadline).tap { phases.tls = Deadline.now - start }
        end

        def connector(endpoint) = endpoint.tls? ? secure : plain

        def plain = @plain || @lock.synchronize { @plain ||= Io::Connector.new(allow: allowed, **@options.connector) }

        def secure
          @secure || @lock.synchronize { @secure ||= Io::Connector.new(tls: tls, allow: allowed, **@options.connector) }
        end

        # A proxy is the user's own choice, wherever it is.
        def to_proxies = @to_proxies || @lock.synchronize { @to_proxies ||= Io::Connector.new(**@options.connector) }

        def allowed = @options.public_only ? PublicAddresses : nil

        # OpenSSL takes longer to load than all the rest.
        def tls
          Uninterruptible.run { require "plait/io/tls" }
          return @options.tls unless @options.tls.is_a?(Hash)

          protocols = @options.http2 ? { alpn: Protocols::HTTP2::ALPN } : {}
          Io::TLS::Client.new(**protocols, **@options.tls)
        end

        def sharing = @sharing || @lock.synchronize { @sharing ||= http2::Sharing.new(limits: @options.limits) }

        # It needs OpenSSL.
        def http2
          Uninterruptible.run { require_relative "http2" }
          HTTP2
        end
      end

      # Idle connections of one route, taken and put back without the pool's lock: 64 threads that pass the lock on for every
      # request cost more than their requests. The pool counts these connections as busy. A call that waits for a connection
      # first returns them to the pool, and while a call waits none is put here.
      class Cache
        # Whether Array#pop and #push are one step for other threads.
        SAFE = RUBY_ENGINE == "ruby"

        # A connection, and since when it is idle (monotonic seconds).
        Entry = Struct.new(:wire, :since)

        if Native.available?
          include NativeCheckout
        else
          # A plain GET, the short way from an idle connection to the response. {Connections#with} can do all that this one can't.
          # @param direct [Direct] gets an error by `recover`, and by `judge` a response that may not be for the caller
          # @return [Response, nil] nil: nothing was sent
          def get(_direct, _route, _url, _timeouts) = nil
        end

        # @return [Array<Entry>] the newest last
        attr_reader :entries

        # @param route [Route, nil] nil: for none
        # @param most [Integer] idle connections
        def initialize(connections, route = nil, idle_timeout: nil, most: 0)
          @connections = connections
          @route = route
          @idle_timeout = idle_timeout
          @most = most
          @entries = []
        end

        def room? = @entries.size < @most

        # @return [Boolean] whether it was not idle for too long
        def young?(entry) = @idle_timeout.nil? || Deadline.now - entry.since < @idle_timeout

        def for?(route) = @route.equal?(route)
      end

      # For the moment in which a connection changes its owner. Not while we wait: a mask of ours would go before the caller's.
      NEVER = { Object => :never }.freeze
      # Requests in a row after which a route gets the cache.
      HOT = 32

      # @return [Cache] of the busiest route
      attr_reader :cache

      def initialize(options)
        @dialer = Dialer.new(options)
        @limits = options.pool
        @pool = Io::Pool.new(**@limits.slice(:per_key, :max, :max_idle, :idle_timeout), check_after: 0)
        @cache = Cache.new(self)
        @waiting = {}.compare_by_identity # by the block of each call: a second end of one call changes nothing
        @streak = @reused = 0
        @generation = Native.fork_generation
      end

      # Gives the block a connection and takes it back; one whose exchange did not come to its end is closed.
      # @param deadline [Float, nil] monotonic seconds
      # @param renew [Boolean] whether it has to be a new connection
      # @yieldparam used [Boolean] whether it is known to have been used before, see {stale?}
      # @return [Object] the block's value
      # @raise [ConnectError, ResolveError, TLSError, CertificateError, ConnectTimeout, PoolTimeout]
      def with(route, timeouts, deadline, renew: false)
        cache = @cache
        unless cache.for?(route) && @generation == Native.fork_generation && !renew
          return pooled(route, timeouts, deadline, renew) { |wire| yield(wire, false) }
        end

        # Ruby looks for interrupts where a method returns, one in C as well (vm_pop_frame), and where it jumps: held back,
        # they can't come between `pop` and the assignment.
        begin
          entry = nil
          Thread.handle_interrupt(NEVER) { entry = cache.entries.pop }
          used = !entry.nil? && fresh?(entry)
          unless used
            discard(entry.wire) if entry
            checkout(route, timeouts, deadline) { |wire| entry = Cache::Entry.new(wire) }
          end
          value = yield(entry.wire, used)
          whole = true
          value
        ensure
          Thread.handle_interrupt(NEVER) { put_back(entry, cache, whole) if entry }
        end
      end

      # As {with}, without an end.
      # @yieldparam wire [Wire] for {checkin} or {discard}; no interrupt comes before the block has stored it
      def checkout(route, timeouts, deadline, renew: false, &take)
        @waiting[take] = true
        clear(@cache)
        @pool.checkout(route.origin, deadline: earliest(@limits[:wait], deadline), renew: renew, take: take) do |&made|
          @dialer.connect(route, earliest(timeouts.connect, deadline), &made)
        end
      ensure
        @waiting.delete(take)
      end

      # @return [Integer] requests that wait for a connection, or for it to be made
      def waiting = @waiting.size

      # Returns a connection whose exchange is complete.
      def checkin(wire) = wire.reusable? ? @pool.checkin(wire) : @pool.discard(wire)

      def discard(wire) = @pool.discard(wire)

      # Called by the cache: a connection that it does not keep.
      def take_back(wire) = Thread.handle_interrupt(NEVER) { checkin(wire) }

      # @param wire [Wire] on which an exchange has just failed
      # @param used [Boolean] whether it is known to have been used before
      # @return [Boolean] whether it had been kept, and no byte of an answer has come: perhaps the peer closed it before it
      #   saw the request, or takes no more requests by HTTP/2
      def stale?(wire, used: false) = !wire.received? && (used || @pool.reused?(wire) || sent_away?(wire))

      # @return [Hash{Symbol => Integer}] see {Io::Pool#statistics}
      def statistics
        clear(@cache)
        @pool.statistics.merge(reused: @reused) { |_, pool, cache| pool + cache }
      end

      def close
        cache = @cache
        @cache = Cache.new(self)
        @closed = true
        clear(cache)
        @pool.close
        @dialer.close
      end

      private

      def sent_away?(wire) = wire.respond_to?(:sent_away?) && wire.sent_away?

      def pooled(route, timeouts, deadline, renew)
        promote(route)
        wire = nil
        checkout(route, timeouts, deadline, renew: renew) { |taken| wire = taken }
        yield wire
      ensure # (a connection whose exchange was broken off has closed itself)
        Thread.handle_interrupt(NEVER) { checkin(wire) if wire }
      end

      def put_back(entry, cache, whole)
        keeps = whole && entry.wire.reusable? && @waiting.empty? && cache.room?
        return checkin(entry.wire) unless keeps

        entry.since = Deadline.now
        cache.entries.push(entry)
        clear(cache) if !@waiting.empty? || !@cache.equal?(cache) # a call that came meanwhile has not seen it
      end

      # In the child of a fork all connections are the parent's.
      def promote(route)
        start_anew if @generation != Native.fork_generation
        return @streak = 0 unless route.equal?(@last) || (@last = route).nil?
        return if (@streak += 1) < HOT || @closed || !Cache::SAFE

        Thread.handle_interrupt(NEVER) { change_cache(cache_of(route)) }
      end

      def cache_of(route)
        Cache.new(self, route, idle_timeout: @limits[:idle_timeout], most: @limits[:max_idle] || @limits[:max])
      end

      def change_cache(cache)
        former = @cache
        @cache = cache
        @streak = 0
        clear(former)
      end

      def start_anew
        @generation = Native.fork_generation
        @waiting.clear
        clear(@cache)
      end

      # However short it was idle: a second answer to the last request would be taken for the one to the next.
      def fresh?(entry)
        @reused += 1
        !entry.wire.stale? && @cache.young?(entry)
      end

      # Returns its connections to the pool.
      def clear(cache)
        return if cache.entries.empty?

        Thread.handle_interrupt(NEVER) do
          while (entry = cache.entries.pop)
            checkin(entry.wire)
          end
        end
      end

      def earliest(seconds, deadline)
        at = Timeouts.earlier(deadline, seconds && (Deadline.now + seconds))
        at && Deadline.new(at)
      end
    end
    private_constant :Wire, :Connections
  end
end
