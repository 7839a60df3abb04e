# frozen_string_literal: true

require_relative "native"
require "plait/values/errors"
require_relative "reshard_lock"
require_relative "door"
require_relative "lease"
require_relative "metrics"
require_relative "node"
require_relative "placement"
require_relative "planes"
require_relative "resharding"
require_relative "settings"

module Plait
  module Shard
    # A proxy before several Redis servers. What clients send is read, sent to the nodes and answered by native threads, which
    # never hold Ruby's lock; this starts and stops them and tells their figures.
    class Proxy
      # Of the options that are not about the placement.
      DEFAULTS = Settings::DEFAULTS
      # Seconds for clients to be answered, where a proxy ends or its nodes change.
      DRAIN = Planes::DRAIN
      # A running proxy is not garbage, even without another reference.
      RUNNING = {}.compare_by_identity
      private_constant :RUNNING

      # @return [Integer] native threads
      attr_reader :threads
      # @return [Integer, nil] on which it listens, once it was started
      attr_reader :port

      # Starts one, and stops it after the block.
      # @yieldparam proxy [Proxy]
      # @return [Object] what the block returns
      # @raise (see #start)
      def self.open(...)
        proxy = new(...).start
        begin
          yield proxy
        ensure
          proxy.stop
        end
      end

      # @param listen [String] "HOST:PORT", or "tls://HOST:PORT" where clients speak TLS; port 0 is any free one, see {#port}
      # @param threads [Integer]
      # @param metrics [String, nil] "HOST:PORT" where it tells its figures over HTTP; nil: nowhere
      # @param inherited [Hash{Symbol => Array<Socket>}] sockets that listen already, for clients (:listen) and :metrics: of a
      #   service manager, or of another proxy (see {#sockets}); there is a thread for each of the first, at least
      # @param options [Hash] with one of nodes, cluster, and sentinels and masters
      # @option options [Array<String, Hash, Node>] :nodes see {Node.parse}
      # @option options [Array<String>] :cluster "HOST:PORT" of some nodes of a Redis Cluster or Valkey Cluster; the others are
      #   found, and so is where each slot goes
      # @option options [Array<String>] :sentinels "HOST:PORT" of Sentinels
      # @option options [Array<String>] :masters names by which these know the nodes, in the order of the placement
      # @option options [String, nil] :sentinel_password
      # @option options [Symbol] :reads where commands go that only read: `:master`, `:replicas` of it that are well, or `:any`
      # @option options [Symbol] :placement of {Placement::RULES}
      # @option options [Symbol] :hash
      # @option options [Symbol] :distribution
      # @option options [String, Symbol, nil] :tag these three as for {Placement}
      # @option options [Numeric] :connect_timeout seconds for a connection to a node
      # @option options [Numeric] :timeout seconds in which a node that was asked has to send something; 0: any time
      # @option options [Numeric] :retry seconds until a node that can't be reached is tried again
      # @option options [Numeric] :slow seconds from which on a command is remembered, see {#slow}; 0: none is
      # @option options [Numeric] :hot seconds over which the keys that are asked for most are counted: {#hot_keys}; 0: never
      # @option options [Integer] :client_bytes that a client may leave unread before it is cut
      # @option options [Integer] :thread_bytes that all clients of a thread may have it keep: beyond that, the largest are cut
      # @option options [Integer] :clients at once, for each thread
      # @option options [String, nil] :password that clients have to give; nil: none
      # @option options [String, nil] :node_user as whom the proxy speaks to nodes; nil: their default user
      # @option options [String, nil] :node_password
      # @option options [Boolean] :users whether names and passwords of clients are for the nodes to judge: ACL users
      # @option options [Boolean] :config whether clients may change nodes by CONFIG SET, ACL SETUSER and ACL DELUSER
      # @option options [Boolean] :keyless_scripts whether EVAL and FCALL that name no key are run, by one node; they are refused
      #   otherwise, since it is not known whether that node has what they use
      # @option options [String] :cert file (PEM) of the certificate to show to clients, with its chain; for tls://
      # @option options [String] :key file of its key, where it isn't in the same
      # @option options [String] :client_ca file of certificates: clients have to show one of theirs
      # @option options [Boolean] :node_tls whether nodes speak TLS
      # @option options [String] :node_ca file of whom to trust there; the system's without it
      # @option options [String] :node_cert file of what to show to nodes
      # @option options [String] :node_key
      # @option options [String] :node_name for whom all their certificates have to be; each for its own host without it
      # @option options [Symbol] :strategy `:strict`: commands and answers are forwarded when they are whole; `:lazy`: what is
      #   larger than the chunk while it arrives; `:auto`: so from 64 KiB on, or from the chunk where that is larger
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

      # Listens no longer, lets waiting clients have their answers, closes the others, and stops.
      # @param within [Numeric] seconds; a client that waits longer is cut
      # @param linger [Numeric] seconds before that, in which clients are served as ever, until all have gone by themselves
      # @return [Boolean] whether no client was cut
      def drain(within: DRAIN, linger: 0)
        close_endpoint
        @planes.drain(within, linger).tap { RUNNING.delete(self) }
      ensure
        @lease.close
      end

      # Goes on with other nodes or options. Connected clients keep their connections, nodes and options where each key is
      # at the same place as before; else they are closed, each when it waits for no answer, and connect again.
      # @param within [Numeric] seconds; a client that waits longer for an answer is cut
      # @param options [Hash] as for {#initialize}, but for listen, threads and metrics, which stay
      # @return [Boolean] whether connected clients could stay
      # @raise [UsageError] when it isn't running, or an option is wrong: nothing has changed then
      # @raise [ResolveError] likewise
      # @raise [ConnectionError, RemoteError, TimeoutError] likewise, where no node of a cluster or no Sentinel can be asked
      def reload(within: DRAIN, **options)
        raise UsageError, "the proxy is not running: there is nothing to reload" unless running?

        settings = Settings.new(**options)
        @planes.check(settings)
        same = settings.same_places?(@planes.settings, @planes.topology)
        @lease.check(settings) unless same
        @planes.replace(settings, same ? nil : within)
        same
      end

      # Goes on with other nodes, and moves the keys whose place changes. They are copied while clients read and write at the old
      # places. Then clients are let go, as by {#reload}, and new connections wait; the last changes are copied; and they
      # come in, to the new places. No key and no write that was acknowledged is lost, if all of them come through this proxy.
      # @param within [Numeric] seconds; a client that waits longer for an answer is cut
      # @param resume [Boolean] whether another that was broken off may have left copies: they are renewed or deleted
      # @param options [Hash] as for {#reload}
      # @return [Integer] keys that were copied; one that has changed meanwhile counts each time
      # @raise [UsageError] also where keys are at their new places already, and where a cluster or Sentinels have to be asked
      # @raise [ConnectionError, RemoteError, TimeoutError] of a node: clients go on with the old places
      def reshard(within: DRAIN, resume: false, **options)
        raise UsageError, "the proxy is not running: there is nothing to reshard" unless running?

        settings = Settings.new(**options)
        check_movable(settings)
        return reload(within: within, **options) && 0 if !resume && settings.same_places?(@planes.settings, @planes.topology)

        lock = ReshardLock.new(@planes.settings, settings, @lease, resume: resume)
        @lease.quietly { move(lock, settings, within, resume) }
      end

      # Takes up other options by itself, when the nodes have come to them: when another proxy has moved the keys.
      # @param keeps [Boolean] whether nodes that know of no placement record that of this proxy: they refuse any other from
      #   then on, until keys are moved
      # @yieldreturn [Hash{Symbol => Object}] as for {#reload}: what its file says now. It is asked every two seconds
      # @return [void]
      def follow(keeps: false)
        @lease.follow(-> { Settings.new(**yield) }, keeps: keeps) { |settings| @planes.replace(settings, DRAIN) }
      end

      # @return [String, nil] why nodes refuse this proxy: which proxy moved the keys, and when; nil: they don't, as far as known
      def left_behind = @lease.left_behind

      # @return [Boolean]
      def running? = @planes.running?

      # @return [Hash{Symbol => Array<Socket>}] copies of the listening sockets, for a proxy that takes over: a connection is not
      #   refused while one listens. The caller closes them.
      def sockets
        { listen: @planes.listeners, metrics: [@endpoint&.socket].compact }
      end

      # @return [Placement] which node a key belongs to
      # @raise [ConnectionError, RemoteError, TimeoutError] before {#start}, of a cluster or of Sentinels that can't be asked
      def placement = @planes.topology.placement

      # @return [String] on which it listens
      def host = @door.host

      # @return [Integer, nil] on which it tells its figures, while it runs
      def metrics_port = @endpoint&.port

      # @return [Hash{Symbol => Integer}] clients (now), and since the start accepted, commands, errors (that the proxy itself has
      #   answered with), bytes_in, bytes_out (from and to clients), node_failures, clients_cut (too much was kept for them),
      #   redirections (requests that were asked again, elsewhere or later)
      def figures = @planes.figures

      # Asks each node whether it answers.
      # @return [Array<Hash{Symbol => Object}>] of each its address, whether it is up, and its requests and failures since the
      #   start; masters first
      # @raise [UsageError] before {#start}
      def nodes = @planes.nodes

      # The last commands that took `slow:` seconds or longer, of each thread 128 at most. Commands that wait by themselves
      # (BLPOP) are not among them.
      # @return [Array<Hash{Symbol => Object}>] at (Time), seconds, command, client (its CLIENT ID); the oldest first
      def slow
        @planes.totals.slow.sort_by(&:first).map do |at, seconds, command, client|
          { at: Time.at(at), seconds: seconds, command: command, client: client }
        end
      end

      # The keys that most commands were for, in the last `hot:` seconds that are over: by one command in 64, so that a key with
      # few is not among them.
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

      # Who comes in behind that is let in by the nodes.
      def close_and_finish(lock, resharding, step)
        lock.close
        resharding.finish unless step == :decided
        lock.settle
      ensure
        lock.release
      end

      # Keys are moved by the cluster itself there, or by the operator.
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
