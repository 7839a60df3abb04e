# frozen_string_literal: true

require "monitor"
require_relative "door"
require_relative "launch"
require_relative "retirement"

module Plait
  module Shard
    # The data plane of a {Proxy}, and earlier planes that still have clients. A plane follows another on the same listening
    # sockets, in whose queue new connections wait.
    class Planes
      # Seconds for pending answers to clients, where the caller gives none.
      DRAIN = 10

      # @return [NativeShard::Plane] the current one
      attr_reader :plane
      # @return [Settings] of the current plane
      attr_reader :settings
      # @return [Totals] the figures of all planes
      attr_reader :totals

      # @param encrypts [Boolean] whether clients speak TLS
      # @raise [UsageError, UnsupportedError]
      def initialize(settings, encrypts:)
        @encrypts = encrypts
        check(settings)
        @settings = settings
        @plane = NativeShard::Plane.new
        @totals = Totals.new
        @retired = Retirement.new(@totals)
        @changing = Monitor.new
      end

      # @param settings [Settings] of a plane to come
      # @raise [UsageError, UnsupportedError] they are no settings for it
      def check(settings) = settings.encryption.of_clients(@encrypts) && nil

      # @param sockets [Array<Socket>] listening ones; the caller may close them afterwards
      def start(sockets)
        @retired = Retirement.new(@totals = Totals.new)
        launch(@plane, @settings = @settings.dup, sockets)
      end

      # Ends all connections at once.
      def stop
        @changing.synchronize do
          stop_present # first: an interrupt in the rest comes after it
        ensure
          @retired.stop
          @launch&.close
        end
      end

      # @param within [Numeric] seconds for pending answers
      # @param linger [Numeric] seconds before that, in which clients are still served
      # @return [Boolean] whether no client was cut
      def drain(within, linger)
        Retirement.linger(@plane, linger) if linger.positive?
        answered = retire_present(within)
        @changing.synchronize { @launch.close }
        @retired.stop
        answered
      end

      # An interrupt comes while it waits for nodes, or after it: else both planes would serve.
      # @param settings [Settings] of the next one
      # @param within [Numeric, nil] seconds for clients of earlier planes; nil: they may stay
      def replace(settings, within) = Thread.handle_interrupt(Object => :on_blocking) { exchange_at_once(settings, within) }

      # No client is served while the block runs; new connections wait. If it raises, all is as before. Another change waits.
      # @param settings [Settings] of the next one
      # @param within [Numeric] seconds for clients of earlier planes
      def switch(settings, within, &block)
        check(settings)
        @changing.synchronize do
          # A check that must not fail later, when no client is served.
          with_listeners { |sockets| Door.refuse_itself(settings.addresses, sockets.map(&:fileno)) }
          with_listeners { |sockets| exchange(settings, sockets, within, &block) }
        end
      end

      def running? = @plane.running?

      def topology = (@launch || @settings).topology

      # @return [Array<Hash{Symbol => Object}>] (see Proxy#nodes)
      def nodes
        raise UsageError, "the proxy was not started yet" unless @launch

        @launch.nodes(@settings.access, @totals.nodes)
      end

      # @return [Hash{Symbol => Integer}] (see Proxy#figures)
      def figures = @totals.figures

      # @return [Array<Socket>] copies of the listening sockets; the caller closes them
      def listeners = Uninterruptible.run { @plane.listeners.map { |descriptor| Socket.for_fd(descriptor) } }

      private

      def with_listeners
        sockets = listeners
        yield sockets
      ensure
        sockets&.each(&:close)
      end

      def exchange_at_once(settings, within)
        @changing.synchronize do
          former = @launch
          with_listeners { |sockets| launch(plane = NativeShard::Plane.new, settings, sockets) && (@plane = plane) }
          @settings = settings
          @retired.hurry(within) if within
          @retired.add(former, within, DRAIN)
        end
      end

      def stop_present
        @totals.close(@plane)
      ensure
        @plane.stop
      end

      def exchange(settings, sockets, within)
        @launch.close
        @retired.stop
        retire_present(within)
        yield
        @settings = settings
      ensure
        relaunch(sockets)
      end

      # An interrupt comes later: clients would have no plane. The launch has a thread of its own, as threads that it starts
      # would inherit the mask, and nothing could end them.
      def relaunch(sockets)
        thread = Thread.new { launch(@plane = NativeShard::Plane.new, @settings, sockets) }
        thread.report_on_exception = false
        Thread.handle_interrupt(Object => :never) { thread.value }
      end

      def retire_present(within) = Retirement.finish(@plane, within) { @totals.close(@plane) }

      def launch(plane, settings, sockets)
        @launch = Launch.new(plane, settings, sockets.map(&:fileno), encrypts: @encrypts) { outgrow }
        @launch.tap { |launch| @totals.open(launch) }
      end

      # There are more nodes than the current plane has room for: the next one has more room.
      def outgrow = @changing.synchronize { replace(@settings.dup, DRAIN) if running? }
    end

    # The figures of all data planes of a proxy, running and ended ones. No total ever falls.
    class Totals
      # Slow commands of ended planes to keep.
      SLOW = 128

      def initialize
        @lock = Mutex.new
        @launches = {}
        @past = { figures: NativeShard::Plane.new.figures, commands: {}, nodes: {} }
        @slow = []
      end

      # @param launch [Launch] of a new plane
      def open(launch) = @lock.synchronize { @launches[launch.plane] = launch } && nil

      # @param plane [NativeShard::Plane] about to be stopped
      def close(plane)
        @lock.synchronize do
          launch = @launches[plane] or return
          past = @past.to_h { |name, sums| [name, add(sums, counted(launch, name))] }
          past[:figures][:clients] = 0
          slow = [*@slow, *plane.slow].max_by(SLOW, &:first)
          @launches.delete(plane)
          @past = past
          @slow = slow
        end
      end

      # @return [Hash{Symbol => Integer}] (see Proxy#figures)
      def figures = total(:figures)

      # @return [Hash{String => Array}] by command: its number, seconds, answers by bucket of their time
      def commands = total(:commands)

      # @return [Hash{String => (Integer, Integer)}] by address: requests and failures
      def nodes = total(:nodes)

      # @return [Array<Array>] as the data plane has them
      def slow = @lock.synchronize { @slow + @launches.each_key.flat_map(&:slow) }

      # @return [Array<Array>] likewise
      def hot_keys = @lock.synchronize { @launches.each_key.flat_map(&:hot_keys) }

      private

      def total(name)
        @lock.synchronize { @launches.each_value.inject(@past[name]) { |sums, launch| add(sums, counted(launch, name)) } }
      end

      def counted(launch, name) = name == :nodes ? launch.counts : launch.plane.public_send(name)

      # Numbers, and lists and tables of them.
      def add(one, other)
        case one
        when Hash then one.merge(other) { |_, before, more| add(before, more) }
        when Array then one.zip(other).map { |before, more| add(before, more) }
        else one + other
        end
      end
    end
    private_constant :Planes, :Totals
  end
end
