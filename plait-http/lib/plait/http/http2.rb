# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require_relative "http2/connection"
require_relative "http2/engine"
require_relative "http2/wire"

module Plait
  module HTTP
    # HTTP/2 (RFC 9113), by the gem http-2: many requests at once on one connection, from threads and fibers.
    #
    # @example
    #   tls = Io::TLS::Client.new(alpn: HTTP2::PROTOCOLS)
    #   socket = Io::Connector.new(tls: tls).connect(endpoint)
    #   connection = HTTP2::Connection.new(socket, endpoint: endpoint) if HTTP2.spoken?(socket)
    #   connection.request("GET", "https://example.org/").body
    module HTTP2
      # The connections of HTTP/2 of a client: one for each key (an origin, and how to get there), for all who ask. While
      # somebody connects others wait for what comes of it, and do not connect too.
      class Sharing
        # Keys of which is known that their peer does not speak HTTP/2.
        KNOWN = 1024
        NEVER = { Object => :never }.freeze
        private_constant :KNOWN, :NEVER

        # @param limits [Protocols::HTTP1::Limits, nil]
        def initialize(limits: nil)
          @limits = limits
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @connections = {}
          @places = Hash.new(0).compare_by_identity
          @connecting = {}
          @others = {}
          @pid = Process.pid
        end

        # @param key [Object] of a Hash
        # @param origin [Origin]
        # @param deadline [Deadline, nil] for waiting until somebody else has connected
        # @param take [#call, nil] is given the Wire before an interrupt can come
        # @yield connects, when there is no connection that takes another request
        # @yieldreturn [Array(Io::TLS::Socket, Io::Connector::Phases)] with {PROTOCOLS} offered
        # @return [Wire, Array(Io::TLS::Socket, Io::Connector::Phases)] what the block returned when the peer has not chosen
        #   HTTP/2
        # @raise [ConnectTimeout]
        def wire(key, origin, deadline: nil, take: nil, &connect)
          @lock.synchronize { find(key, origin, deadline, take) } || connect(key, origin, take, &connect)
        end

        # @return [Integer] connections
        def size = @lock.synchronize { @connections.size }

        # Closes all. Who waits on one gets {ConnectionClosed}.
        # @return [void]
        def close
          all = @lock.synchronize { @connections.values.tap { @connections.clear } }
          all.each(&:close)
        end

        private

        # @return [Wire, nil] nil: the caller is the one to connect
        def find(key, origin, deadline, take)
          start_anew if @pid != Process.pid
          loop do
            connection = @connections[key]
            return place(connection, origin, take) if connection&.usable?
            return if @others.key?(key)
            return begin_connecting(key) unless @connecting.key?(key)
            raise too_late(origin) if deadline&.expired?

            @changed.wait(@lock, deadline&.remaining)
          end
        end

        # @return [nil]
        def begin_connecting(key)
          @connecting[key] = true
          nil
        end

        def connect(key, origin, take)
          socket, phases = yield
          return other(key, [socket, phases]) unless socket.respond_to?(:alpn_protocol) && socket.alpn_protocol == "h2"

          connection = Connection.new(socket, endpoint: origin.endpoint, phases: phases, limits: @limits)
          Thread.handle_interrupt(NEVER) { @lock.synchronize { place(@connections[key] = connection, origin, take) } }
        ensure
          Thread.handle_interrupt(NEVER) { @lock.synchronize { @connecting.delete(key) && @changed.broadcast } }
        end

        def other(key, answer)
          @lock.synchronize do
            @others.shift if @others.size >= KNOWN
            @others[key] = true
          end
          answer
        end

        # A connection is closed with its last place.
        def place(connection, origin, take)
          Thread.handle_interrupt(NEVER) do
            @places[connection] += 1
            Wire.new(connection, origin) { give_back(connection) }.tap { |wire| take&.call(wire) }
          end
        end

        def give_back(connection)
          connection.close if @lock.synchronize { (@places[connection] -= 1).zero? && forget(connection) }
        end

        # @return [true]
        def forget(connection)
          @places.delete(connection)
          @connections.delete_if { |_, one| one.equal?(connection) }
          true
        end

        # The connections of a fork are its parent's.
        def start_anew
          @connections.each_value(&:abandon)
          [@connections, @places, @connecting].each(&:clear)
          @pid = Process.pid
        end

        def too_late(origin)
          ConnectTimeout.new("no connection to #{origin.endpoint} in time: another request is connecting to it",
                             endpoint: origin.endpoint, phase: :connect)
        end
      end

      # What is offered by ALPN (RFC 7301), the preferred one first.
      PROTOCOLS = %w[h2 http/1.1].freeze

      # @param socket [Io::TLS::Socket, BasicSocket] connected
      # @return [Boolean] whether the peer has chosen HTTP/2
      def self.spoken?(socket) = socket.respond_to?(:alpn_protocol) && socket.alpn_protocol == "h2"
    end
  end
end
