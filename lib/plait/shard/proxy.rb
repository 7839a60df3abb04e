# frozen_string_literal: true

require "socket"
require_relative "../native"
require_relative "../values/errors"
require_relative "door"
require_relative "health"
require_relative "metrics"
require_relative "metrics_endpoint"
require_relative "node"
require_relative "placement"
require_relative "resharding"
require_relative "retirement"
require_relative "settings"

module Plait
  module Shard
    # A proxy before several Redis servers. What clients send is read, sent to the nodes and answered by native threads, which
    # never hold Ruby's lock; this starts and stops them and tells their figures.
    class Proxy
      # Of the options that are not about the placement.
      DEFAULTS = Settings::DEFAULTS
      # Seconds for clients to be answered, where a proxy ends or its nodes change.
      DRAIN = 10

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

      # @param nodes [Array<String, Node>] see {Node.parse}
      # @param listen [String] "HOST:PORT"; port 0 is any free one, see {#port}
      # @param threads [Integer]
      # @param metrics [String, nil] "HOST:PORT" where it tells its figures over HTTP; nil: nowhere
      # @param options [Hash]
      # @option options [Symbol] :placement of {Placement::RULES}
      # @option options [Symbol] :hash
      # @option options [Symbol] :distribution
      # @option options [String, Symbol, nil] :tag these three as for {Placement}
      # @option options [Numeric] :connect_timeout seconds for a connection to a node
      # @option options [Numeric] :timeout seconds in which a node that was asked has to send something; 0: any time
      # @option options [Numeric] :retry seconds until a node that can't be reached is tried again
      # @option options [Numeric] :slow seconds from which on a command is remembered, see {#slow}; 0: none is
      # @option options [Integer] :client_bytes that a client may leave unread before it is cut
      # @option options [Integer] :clients at once, for each thread
      # @option options [String, nil] :password that clients have to give; nil: none
      # @option options [String, nil] :node_user as whom the proxy speaks to nodes; nil: their default user
      # @option options [String, nil] :node_password
      # @option options [Boolean] :users whether names and passwords of clients are for the nodes to judge: ACL users
      # @option options [Symbol] :strategy `:strict`: commands and answers are forwarded when they are whole; `:lazy`: what is
      #   larger than the chunk while it arrives; `:auto`: so from 64 KiB on, or from the chunk where that is larger
      # @option options [Integer] :chunk bytes, 1 KiB to 256 KiB
      # @raise [UsageError]
      # @raise [UnsupportedError] without the extension, or on another system than Linux
      def initialize(nodes:, listen: "127.0.0.1:6380", threads: 1, metrics: nil, **options)
        check_support
        fits = threads.is_a?(Integer) && (1..256).cover?(threads)
        raise UsageError, "threads are from 1 to 256, not #{threads.inspect}" unless fits

        @door = Door.new(listen)
        @metrics_door = Door.new(metrics, "metrics") if metrics
        @threads = threads
        @settings = Settings.new(nodes: nodes, **options)
        @plane = NativeShard::Plane.new
        @retired = Retirement.new
      end

      # @return [self]
      # @raise [ListenError] nobody can connect there
      # @raise [ResolveError] a node's name has no address
      # @raise [UsageError] when it is running already
      def start
        raise UsageError, "the proxy is running" if running?

        sockets = @door.open(@threads)
        @port = sockets.first.local_address.ip_port
        @endpoint = open_endpoint
        launch(@plane, @settings, sockets.map(&:fileno))
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
        @plane.stop
        @retired.stop
        nil
      end

      # Listens no longer, lets clients who wait for an answer have it, closes those who don't, and stops.
      # @param within [Numeric] seconds; who waits longer is cut
      # @return [Boolean] whether nobody was cut
      def drain(within: DRAIN)
        close_endpoint
        answered = Retirement.finish(@plane, within) { @retired.remember(@plane) }
        @retired.stop
        answered
      end

      # Goes on with other nodes or options. Clients who are connected keep their connections, nodes and options where each key is
      # at the same place as before; else they are closed, each when it waits for no answer, and connect anew.
      # @param nodes [Array<String, Node>]
      # @param within [Numeric] seconds; who waits for an answer longer than that is cut
      # @param options [Hash] as for {#initialize}, but for listen, threads and metrics, which stay
      # @return [Boolean] whether connected clients could stay
      # @raise [UsageError] when it isn't running, or an option is wrong: nothing has changed then
      # @raise [ResolveError] likewise
      def reload(nodes:, within: DRAIN, **options)
        raise UsageError, "the proxy is not running: there is nothing to reload" unless running?

        settings = Settings.new(nodes: nodes, **options)
        same = settings.same_places?(@settings)
        replace_plane(settings, same ? nil : within)
        same
      end

      # Goes on with other nodes, and moves the keys whose place changes. They are copied while clients read and write at the old
      # places. Then clients are let go, as by {#reload}, and those who connect wait; what has changed last is copied; and they
      # come in, to the new places. No key and no write that was acknowledged is lost, if all of them come through this proxy.
      # @param nodes [Array<String, Node>]
      # @param within [Numeric] seconds; who waits for an answer longer than that is cut
      # @param resume [Boolean] whether another that was broken off may have left copies: they are renewed or deleted
      # @param options [Hash] as for {#reload}
      # @return [Integer] keys that were copied; one that has changed meanwhile counts each time
      # @raise [UsageError] also where keys are at their new places already
      # @raise [ConnectionError, RemoteError, TimeoutError] of a node: clients go on with the old places
      def reshard(nodes:, within: DRAIN, resume: false, **options)
        raise UsageError, "the proxy is not running: there is nothing to reshard" unless running?

        settings = Settings.new(nodes: nodes, **options)
        resharding = Resharding.new(@settings, settings, resume: resume)
        resharding.prepare
        switch(settings, within) { resharding.finish }
        resharding.clean
        resharding.copies
      ensure
        resharding&.close
      end

      # @return [Boolean]
      def running? = @plane.running?

      # @return [Placement] which node a key belongs to
      def placement = @settings.placement

      # @return [String] on which it listens
      def host = @door.host

      # @return [Integer, nil] on which it tells its figures, while it runs
      def metrics_port = @endpoint&.port

      # @return [Hash{Symbol => Integer}] clients (now), and since the start accepted, commands, errors (that the proxy itself has
      #   answered with), bytes_in, bytes_out (from and to clients), node_failures
      def figures = @plane.figures.merge(@retired.figures) { |_, current, former| current + former }

      # Asks each node whether it answers.
      # @return [Array<Hash{Symbol => Object}>] of each its address, whether it is up, and its requests and failures since the
      #   start or the last reload
      def nodes
        up = Health.check(placement.nodes, @settings.options[:connect_timeout])
        placement.nodes.zip(up, @plane.nodes).map do |node, answers, (requests, failures)|
          { address: node.to_s, up: answers, requests: requests || 0, failures: failures || 0 }
        end
      end

      # The last commands that took `slow:` seconds or longer, of each thread 128 at most; those that wait by themselves (BLPOP)
      # are not among them.
      # @return [Array<Hash{Symbol => Object}>] at (Time), seconds, command, client (its CLIENT ID); the oldest first
      def slow
        @plane.slow.sort_by(&:first).map do |at, seconds, command, client|
          { at: Time.at(at), seconds: seconds, command: command, client: client }
        end
      end

      private

      def check_support
        raise UnsupportedError, "the shard proxy needs the C extension: #{Native::REASON}" unless Native.available?
        return if Plait.const_defined?(:NativeShard) && NativeShard.const_defined?(:Plane)

        raise UnsupportedError, "the shard proxy needs Linux, for its epoll(7)"
      end

      def launch(plane, settings, descriptors)
        plane.start(settings.addresses, settings.placement.native, descriptors, settings.native_options)
      end

      # The same sockets: who is connecting meanwhile waits in their queue.
      def replace_plane(settings, within)
        sockets = @plane.listeners.map { |descriptor| Socket.for_fd(descriptor) }
        plane = NativeShard::Plane.new
        launch(plane, settings, sockets.map(&:fileno))
        former = @plane
        @plane = plane
        @settings = settings
        @retired.hurry(within) if within
        @retired.add(former, within)
      ensure
        sockets&.each(&:close)
      end

      # Nobody is served while the block runs; who connects waits. If it raises, all is as before.
      def switch(settings, within)
        sockets = @plane.listeners.map { |descriptor| Socket.for_fd(descriptor) }
        settings.addresses # they can't fail any more
        @retired.stop
        Retirement.finish(@plane, within) { @retired.remember(@plane) }
        yield
        @settings = settings
      ensure
        if sockets
          @plane = NativeShard::Plane.new
          launch(@plane, @settings, sockets.map(&:fileno))
          sockets.each(&:close)
        end
      end

      def open_endpoint
        return unless @metrics_door

        MetricsEndpoint.new(@metrics_door.open.first) do
          Metrics.new(figures: figures, commands: @plane.commands, nodes: nodes, slow: slow)
        end
      end

      def close_endpoint
        @endpoint&.close
        @endpoint = nil
      end
    end
  end
end
