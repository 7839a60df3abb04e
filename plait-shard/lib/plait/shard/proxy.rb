# frozen_string_literal: true

require_relative "reshard_lock"
require_relative "door"
require_relative "lease"
require_relative "metrics"
require_relative "planes"
require_relative "resharding"
require_relative "settings"

module Plait
  module Shard
    # A proxy in front of several Redis servers. Native threads read commands of clients, send them to the nodes and answer
    # them; they never hold Ruby's lock. This class starts and stops these threads and has their figures.
    class Proxy
      # Values of options except the options of the placement.
      DEFAULTS = Settings::DEFAULTS
      # Seconds for pending answers to clients, when a proxy ends or its nodes change.
      DRAIN = Planes::DRAIN
      # A running proxy stays alive without another reference.
      RUNNING = {}.compare_by_identity
      private_constant :RUNNING

      # @return [Integer] native threads
      attr_reader :threads
      # @return [Integer, nil] the port on which it listens, after {#start}
      attr_reader :port

      # Starts a proxy, and stops it after the block.
      # @yieldparam proxy [Proxy]
      # @return [Object] the block's value
      # @raise (see #start)
      def self.open(...)
        proxy = new(...).start
        begin
          yield proxy
        ensure
          proxy.stop
        end
      end

      # @param listen [String] "HOST:PORT", or "tls://HOST:PORT" where clients speak TLS; port 0 is any free port, see {#port}
      # @param threads [Integer]
      # @param metrics [String, nil] "HOST:PORT" where it serves its figures over HTTP; nil: nowhere
      # @param inherited [Hash{Symbol => Array<Socket>}] listening sockets for clients (:listen) and for figures (:metrics), of
      #   a service manager or of another proxy (see {#sockets}); each of the first has a thread, at least
      # @param options [Hash] with one of nodes, cluster, and sentinels and masters
      # @option options [Array<String, Hash, Node>] :nodes see {Node.parse}
      # @option options [Array<String>] :cluster "HOST:PORT" of some nodes of a Redis Cluster or Valkey Cluster, which know
      #   the other nodes and the slots
      # @option options [Array<String>] :sentinels "HOST:PORT" of Sentinels
      # @option options [Array<String>] :masters names by which these know the nodes, in the order of the placement
      # @option options [String, nil] :sentinel_password
      # @option options [Symbol] :reads where reading commands go: `:master`, its healthy `:replicas`, or `:any`
      # @option options [Symbol] :placement of {Placement::RULES}
      # @option options [Symbol] :hash see {Placement}
      # @option options [Symbol] :distribution see {Placement}
      # @option options [String, Symbol, nil] :tag see {Placement}
      # @option options [Numeric] :connect_timeout seconds for a connection to a node
      # @option options [Numeric] :timeout seconds in which an asked node has to send some bytes; 0: any time
      # @option options [Numeric] :retry seconds until an unreachable node is tried again
      # @option options [Numeric] :slow seconds from which on a command is remembered, see {#slow}; 0: never
      # @option options [Numeric] :hot seconds over which the most used keys are counted: {#hot_keys}; 0: never
      # @option options [Integer] :client_bytes unread bytes at which a client is cut
      # @option options [Integer] :thread_bytes bytes that a thread keeps for all its clients; beyond that, it cuts the largest
      # @option options [Integer] :clients at once, for each thread
      # @option options [String, nil] :password of clients; nil: none
      # @option options [String, nil] :node_user the proxy's user at nodes; nil: their default user
      # @option options [String, nil] :node_password
      # @option options [Boolean] :users whether the nodes check names and passwords of clients: ACL users
      # @option options [Boolean] :config whether clients may change nodes by CONFIG SET, ACL SETUSER and ACL DELUSER
      # @option options [Boolean] :keyless_scripts whether one node runs EVAL and FCALL that name no key; otherwise they are
      #   refused, since the keys that they use may be on other nodes
      # @option options [String] :cert file (PEM) of the certificate for clients, with its chain; for tls://
      # @option options [String] :key file of its key, unless :cert has it
      # @option options [String] :client_ca file of authorities: clients need a certificate of one
      # @option options [Boolean] :node_tls whether nodes speak TLS
      # @option options [String] :node_ca file of authorities for nodes; without it the authorities of the system
      # @option options [String] :node_cert file of the certificate for nodes
      # @option options [String] :node_key
      # @option options [String] :node_name the name in all their certificates; without it the host of each
      # @option options [Symbol] :strategy `:strict`: commands and answers are forwarded when they are whole; `:lazy`: values
      #   larger than the chunk are forwarded while they arrive; `:auto`: values from 64 KiB on, or from a larger chunk on
      # @option options [Integer] :chunk bytes, 1 KiB to 256 KiB
      # @raise [UsageError]
      # @raise [UnsupportedError] without the extension, or on another system than Linux
      def initialize(listen: "127.0.0.1:6380", threads: 1, metrics: nil, inherited: {}, **options)
        check_support
        fits = threads.is_a?(Integer) && (1..256).cover?(threads)
        raise UsageError, "threads are from 1 to 256, not #{threads.inspect}" unless fits

        @door = Door.new(listen, inherited: inherited.fetch(:listen, []))
        @metrics_door = Door.new(metrics, "metrics", inherited: inherited.fetch(:metrics, [])) if metrics
        @threads = [threads, inherited.fetch(:listen, []).size].max
        @planes = Planes.new(Settings.new(**options), encrypts: @door.tls?)
        @lease = Lease.new { @planes.settings }
      end

      # @return [self]
      # @raise [ListenError] the address can't be bound
      # @raise [ResolveError] a node's name has no address
      # @raise [UsageError] when it is running already
      def start
        raise UsageError, "the proxy is running" if running?

        sockets = @door.open(@threads)
        @port = sockets.first.local_address.ip_port
        @endpoint = open_endpoint
        @planes.start(sockets)
        @lease.start
        RUNNING[self] = true
        self
      rescue StandardError
        close_endpoint unless running?
        raise
      ensure
        sockets&.each(&:close)
      end

      # Ends all connections. Does nothing when it isn't running.
      # @return [void]
      def stop
        close_endpoint
        @planes.stop
        @lease.close
        nil
      ensure
        RUNNING.delete(self)
      end

      # Stops listening, answers pending commands, closes the connections of clients, and stops.
      # @param within [Numeric] seconds; a client that waits longer is cut
      # @param linger [Numeric] seconds before that, in which clients are still served, until all have disconnected
      # @return [Boolean] whether no client was cut
      def drain(within: DRAIN, linger: 0)
        close_endpoint
        @planes.drain(within, linger).tap { RUNNING.delete(self) }
      ensure
        @lease.close
      end

      # Continues with other nodes or options. Clients keep their connections, nodes and options if each key stays at its place.
      # Else each connection is closed when it has no pending answer, and the client connects again.
      # @param within [Numeric] seconds; a client that waits longer for an answer is cut
      # @param options [Hash] as for {#initialize}, but for listen, threads and metrics, which stay
      # @return [Boolean] whether connected clients could stay
      # @raise [UsageError] when it isn't running, or an option is wrong: nothing has changed then
      # @raise [ResolveError] likewise
      # @raise [ConnectionError, RemoteError, TimeoutError] likewise: no node of a cluster, or no Sentinel, answers
      def reload(within: DRAIN, **options)
        raise UsageError, "the proxy is not running: there is nothing to reload" unless running?

        settings = Settings.new(**options)
        @planes.check(settings)
        same = settings.same_places?(@planes.settings, @planes.topology)
        @lease.check(settings) unless same
        @planes.replace(settings, same ? nil : within)
        same
      end

      # Continues with other nodes, and moves the keys whose place changes. Keys are copied while clients use the old places. Then
      # connections are closed, as by {#reload}, new ones wait, and the last changes are copied. After that clients use the new
      # places. No key and no acknowledged write is lost, if all writes come through this proxy.
      # @param within [Numeric] seconds; a client that waits longer for an answer is cut
      # @param resume [Boolean] whether a broken reshard may have left copies: they are renewed or deleted
      # @param options [Hash] as for {#reload}
      # @return [Integer] copied keys; a key that changes meanwhile counts each time
      # @raise [UsageError] also where keys are at their new places already, and with a cluster or Sentinels
      # @raise [ConnectionError, RemoteError, TimeoutError] of a node: clients still use the old places
      def reshard(within: DRAIN, resume: false, **options)
        raise UsageError, "the proxy is not running: there is nothing to reshard" unless running?

        settings = Settings.new(**options)
        check_movable(settings)
        return reload(within: within, **options) && 0 if !resume && settings.same_places?(@planes.settings, @planes.topology)

        lock = ReshardLock.new(@planes.settings, settings, @lease, resume: resume)
        @lease.quietly { move(lock, settings, within, resume) }
      end

      # Reloads by itself when another proxy has moved the keys to the places of these options.
      # @param keeps [Boolean] whether nodes without a record of a placement record that of this proxy: they refuse any other
      #   from then on, until keys are moved
      # @yieldreturn [Hash{Symbol => Object}] the options of its file, as for {#reload}; called every two seconds
      def follow(keeps: false)
        @lease.follow(-> { Settings.new(**yield) }, keeps: keeps) { |settings| @planes.replace(settings, DRAIN) }
      end

      # @return [String, nil] why nodes refuse this proxy: the proxy that moved the keys, and the time; nil: no node is known to
      def left_behind = @lease.left_behind

      # @return [Boolean]
      def running? = @planes.running?

      # @return [Hash{Symbol => Array<Socket>}] copies of the listening sockets, for a proxy that takes over: the kernel accepts
      #   connections while one is open. The caller closes them.
      def sockets = { listen: @planes.listeners, metrics: [@endpoint&.socket].compact }

      # @return [Placement]
      # @raise [ConnectionError, RemoteError, TimeoutError] before {#start}: no node of a cluster, or no Sentinel, answers
      def placement = @planes.topology.placement

      # @return [String] on which it listens
      def host = @door.host

      # @return [Integer, nil] the port at which it serves its figures, while it runs
      def metrics_port = @endpoint&.port

      # @return [Hash{Symbol => Integer}] clients (now), and since the start accepted, commands, errors (that the proxy itself has
      #   answered with), bytes_in, bytes_out (from and to clients), node_failures, clients_cut (too much was kept for them),
      #   redirections (requests that were asked again, elsewhere or later)
      def figures = @planes.figures

      # Asks each node whether it answers.
      # @return [Array<Hash{Symbol => Object}>] for each node: address, up (whether it answers), requests and failures since the
      #   start; masters first
      # @raise [UsageError] before {#start}
      def nodes = @planes.nodes

      # The last commands that took `slow:` seconds or longer, at most 128 for each thread, without commands that wait (BLPOP).
      # @return [Array<Hash{Symbol => Object}>] at (Time), seconds, command, client (its CLIENT ID); the oldest first
      def slow
        @planes.totals.slow.sort_by(&:first).map do |at, seconds, command, client|
          { at: Time.at(at), seconds: seconds, command: command, client: client }
        end
      end

      # The most used keys in the last full `hot:` seconds. One command in 64 counts, so a rarely used key is not among them.
      # @param most [Integer]
      # @return [Array<Hash{Symbol => Object}>] key (as it is shown: cut, and escaped), per_second (commands); the hottest first
      def hot_keys(most = 10)
        sums = Hash.new(0.0)
        @planes.totals.hot_keys.each { |bytes, size, per_second| sums[[bytes, size]] += per_second }
        sums.max_by(most, &:last).map do |(bytes, size), per_second|
          { key: bytes.force_encoding(Encoding::UTF_8).inspect[1...-1] + ("…" if bytes.bytesize < size).to_s, per_second: per_second }
        end
      end

      private

      def check_support
        raise UnsupportedError, "the shard proxy needs the C extension: #{Native::REASON}" unless Native.available?
        return if Plait.const_defined?(:NativeShard) && NativeShard.const_defined?(:Plane)

        raise UnsupportedError, "the shard proxy needs Linux, for its epoll(7)"
      end

      # @return [Integer] copies
      def move(lock, settings, within, resume)
        step = lock.begin
        if step == :settled
          @planes.replace(settings, within)
          return 0
        end
        resharding = Resharding.new(@planes.settings, settings, lock, resume: resume)
        resharding.prepare unless step == :decided
        @planes.switch(settings, within) { close_and_finish(lock, resharding, step) }
        resharding.clean
        resharding.copies
      ensure
        lock.release
        resharding&.close
        lock.shut
      end

      # A connection after that is admitted by the nodes.
      def close_and_finish(lock, resharding, step)
        lock.close
        resharding.finish unless step == :decided
        lock.settle
      ensure
        lock.release
      end

      # A cluster, or its operator, moves keys itself.
      def check_movable(settings)
        return unless [settings, @planes.settings].any? { |one| one.source.watched? }

        raise UsageError, "a cluster moves its slots itself (redis-cli --cluster reshard), and Sentinels change masters: " \
                          "there is nothing for the proxy to move"
      end

      def open_endpoint
        return unless @metrics_door

        MetricsEndpoint.new(@metrics_door.open.first) do
          Metrics.new(figures: figures, commands: @planes.totals.commands, nodes: nodes, slow: slow, hot_keys: hot_keys)
        end
      end

      def close_endpoint
        @endpoint&.close
        @endpoint = nil
      end
    end
  end
end
