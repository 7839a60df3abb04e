# frozen_string_literal: true

require "plait/io/connector"
require "plait/io/native"
require "plait/io/pool"
require "plait/values/deadline"
require "plait/values/uninterruptible"
require_relative "connections/routes"
require_relative "native_wire"
require_relative "pure_wire"

module Plait
  module HTTP
    # One HTTP/1.1 connection of a client: sends a request, receives the answer to it; of pools, redirects and retries it
    # knows nothing. Whatever ends an exchange early closes it, so that no answer ever reaches another request.
    Wire = Native.available? ? NativeWire : PureWire

    # The connections of a client, kept for the next request to the same origin: in a pool, and those of the route that is
    # used all the time on a {Shelf} before it.
    class Connections
      # Makes connections: by way of a proxy, with TLS, with HTTP/2, where route and options want that.
      class Dialer
        # @param options [Options]
        def initialize(options)
          @options = options
          @lock = Mutex.new
        end

        # @param route [Route]
        # @param deadline [Deadline, nil]
        # @yieldparam wire [Wire, HTTP2::Wire] the block's from now on; no interrupt comes before that
        # @return [Wire, HTTP2::Wire]
        # @raise [ConnectError, ResolveError, TLSError, CertificateError, ConnectTimeout]
        # @raise [UnsupportedError] when HTTP/2 is wanted and its gem is not there
        def connect(route, deadline, &block)
          phases = Io::Connector::Phases.new
          take = ->(wire) { hand_over(wire, phases, &block) }
          found = if @options.http2 && route.origin.tls?
                    sharing.wire(route.origin, route.origin, deadline: deadline, take: take) { dial(route, deadline, phases) }
                  else
                    dial(route, deadline, phases)
                  end
          found.is_a?(Array) ? take.call(wire(route, *found)) : found
        ensure
          phases&.close
        end

        # @return [void]
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
          Wire.new(socket, tls: endpoint.tls?, endpoint: endpoint, phases: phases, limits: @options.limits)
        end

        # @return [Array(BasicSocket, Io::Connector::Phases)]
        def dial(route, deadline, phases)
          endpoint = route.origin.endpoint
          connector = endpoint.tls? ? secure : plain
          return [connector.connect(endpoint, deadline: deadline, phases: phases), phases] unless route.proxy

          socket = route.proxy.connect(connector, route.origin, deadline: deadline, phases: phases)
          socket = shake_hands(socket, endpoint, deadline, phases) if endpoint.tls?
          [socket, phases]
        end

        def shake_hands(socket, endpoint, deadline, phases)
          start = Deadline.now
          secure.tls.handshake(socket, endpoint, deadline: deadline).tap { phases.tls = Deadline.now - start }
        end

        def plain = @plain || @lock.synchronize { @plain ||= Io::Connector.new(**@options.connector) }

        def secure = @secure || @lock.synchronize { @secure ||= Io::Connector.new(tls: tls, **@options.connector) }

        # OpenSSL takes longer to load than all the rest.
        def tls
          Uninterruptible.run { require "plait/io/tls" }
          return @options.tls unless @options.tls.is_a?(Hash)

          protocols = @options.http2 ? { alpn: http2::PROTOCOLS } : {}
          Io::TLS::Client.new(**protocols, **@options.tls)
        end

        def sharing = @sharing || @lock.synchronize { @sharing ||= http2::Sharing.new(limits: @options.limits) }

        # By a gem that not everybody has.
        def http2
          Uninterruptible.run { require_relative "http2" }
          HTTP2
        end
      end
      private_constant :Dialer

      # Idle connections of one route, taken and given back without the pool's lock: 64 threads that pass the lock on for every
      # request cost more than their requests. The pool counts these connections as busy. A call that waits for a connection
      # first returns them to the pool, and while a call waits none is put here.
      class Shelf
        # Whether Array#pop and #push are one step for other threads.
        SAFE = RUBY_ENGINE == "ruby"

        # A connection, and since when it is idle (monotonic seconds).
        Place = Struct.new(:wire, :since)

        # @return [Array<Place>] the newest last
        attr_reader :places

        # @param route [Route, nil] nil: for none
        def initialize(route = nil)
          @route = route
          @places = []
        end

        # @return [Boolean]
        def for?(route) = @route.equal?(route)
      end

      # Between the pool's hands and ours. Not while we wait: a mask of ours would go before the caller's.
      NEVER = { Object => :never }.freeze
      # Requests in a row after which a route has the shelf.
      HOT = 32
      private_constant :NEVER, :HOT

      # @return [Routes]
      attr_reader :routes
      # @return [Integer] requests that wait for a connection, or for it to be made
      attr_reader :waiting

      # @param options [Options]
      # @param heads [Heads]
      def initialize(options, heads)
        @routes = Routes.new(options, heads)
        @dialer = Dialer.new(options)
        @limits = options.pool
        @pool = Io::Pool.new(**@limits.slice(:per_key, :max, :max_idle, :idle_timeout), check_after: 0)
        @shelf = Shelf.new
        @on_shelf = @limits[:max_idle] || @limits[:max]
        @waiting = @streak = @reused = 0
        @generation = Native.fork_generation
      end

      # Gives the block a connection and takes it back; one whose exchange did not come to its end is closed.
      # @param route [Route]
      # @param timeouts [Timeouts]
      # @param deadline [Float, nil] monotonic seconds
      # @param anew [Boolean] whether it is to be a connection that nobody has used before
      # @yieldparam wire [Wire]
      # @yieldparam used [Boolean] whether it is known to have been used before, see {stale?}
      # @return [Object] the block's value
      # @raise [ConnectError, ResolveError, TLSError, CertificateError, ConnectTimeout, PoolTimeout]
      def with(route, timeouts, deadline, anew: false)
        shelf = @shelf
        unless shelf.for?(route) && @generation == Native.fork_generation && !anew
          return pooled(route, timeouts, deadline, anew) { |wire| yield(wire, false) }
        end

        # Ruby looks for interrupts wherever a method returns, one in C as well (vm_pop_frame), and where it jumps: what `pop`
        # gives, or what has been pushed, is ours or the shelf's only where they are held back.
        begin
          place = nil
          Thread.handle_interrupt(NEVER) { place = shelf.places.pop }
          used = !place.nil? && fresh?(place)
          unless used
            discard(place.wire) if place
            checkout(route, timeouts, deadline) { |wire| place = Shelf::Place.new(wire) }
          end
          value = yield(place.wire, used)
          whole = true
          value
        ensure
          Thread.handle_interrupt(NEVER) { put_back(place, shelf, whole) if place }
        end
      end

      # As {with}, for who keeps it for longer.
      # @yieldparam wire [Wire] for {checkin} or {discard}; no interrupt comes before the block has noted it down
      # @return [void]
      def checkout(route, timeouts, deadline, anew: false, &take)
        @waiting += 1
        clear(@shelf)
        at = earliest(@limits[:wait], deadline)
        @pool.checkout(route.origin, deadline: at && Deadline.new(at), anew: anew, take: take) do |&made|
          at = earliest(timeouts.connect, deadline)
          @dialer.connect(route, at && Deadline.new(at), &made)
        end
      ensure
        @waiting -= 1
      end

      # Brings one back whose exchange came to its end.
      # @return [void]
      def checkin(wire) = wire.reusable? ? @pool.checkin(wire) : @pool.discard(wire)

      # Brings one back that is of no more use.
      # @return [void]
      def discard(wire) = @pool.discard(wire)

      # @param wire [Wire] on which an exchange has just failed
      # @param used [Boolean] whether it is known to have been used before
      # @return [Boolean] whether it had been kept, and nothing of an answer has come: the peer perhaps closed it before it
      #   saw the request; or by HTTP/2 takes no more of them
      def stale?(wire, used: false) = !wire.received? && (used || @pool.reused?(wire) || sent_away?(wire))

      # @return [Hash{Symbol => Integer}] see {Io::Pool#statistics}
      def statistics
        clear(@shelf)
        @pool.statistics.merge(reused: @reused) { |_, pool, shelf| pool + shelf }
      end

      # @return [void]
      def close
        shelf = @shelf
        @shelf = Shelf.new
        @closed = true
        clear(shelf)
        @pool.close
        @dialer.close
      end

      private

      def sent_away?(wire) = wire.respond_to?(:sent_away?) && wire.sent_away?

      def pooled(route, timeouts, deadline, anew)
        promote(route)
        wire = nil
        checkout(route, timeouts, deadline, anew: anew) { |taken| wire = taken }
        yield wire
      ensure # (one whose exchange was broken off has closed itself)
        Uninterruptible.run { checkin(wire) if wire }
      end

      def put_back(place, shelf, whole)
        keeps = whole && place.wire.reusable? && !@waiting.positive? && shelf.places.size < @on_shelf
        return checkin(place.wire) unless keeps

        place.since = Deadline.now
        shelf.places.push(place)
        clear(shelf) if @waiting.positive? || !@shelf.equal?(shelf) # who came meanwhile has not seen it there
      end

      # In the child of a fork all connections are the parent's.
      def promote(route)
        start_anew if @generation != Native.fork_generation
        return @streak = 0 unless route.equal?(@last) || (@last = route).nil?
        return if (@streak += 1) < HOT || @closed || !Shelf::SAFE

        Uninterruptible.run { change_shelf(Shelf.new(route)) }
      end

      def change_shelf(shelf)
        former = @shelf
        @shelf = shelf
        @streak = 0
        clear(former)
      end

      def start_anew
        @generation = Native.fork_generation
        @waiting = 0
        clear(@shelf)
      end

      # However short it was idle: a second answer to the last request would be taken for the one to the next.
      def fresh?(place)
        @reused += 1
        idle_timeout = @limits[:idle_timeout]
        !place.wire.stale? && (idle_timeout.nil? || Deadline.now - place.since < idle_timeout)
      end

      # Brings back what is there, for others to have.
      def clear(shelf)
        return if shelf.places.empty?

        Uninterruptible.run do
          while (place = shelf.places.pop)
            checkin(place.wire)
          end
        end
      end

      # @return [Float, nil] monotonic seconds
      def earliest(seconds, deadline)
        return deadline unless seconds

        at = Deadline.now + seconds
        deadline && deadline < at ? deadline : at
      end
    end
  end
end
