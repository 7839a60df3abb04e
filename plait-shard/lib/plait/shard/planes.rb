# frozen_string_literal: true

require "monitor"
require "socket"
require_relative "native"
require "plait/values/errors"
require_relative "door"
require_relative "launch"
require_relative "ledger"
require_relative "retirement"

module Plait
  module Shard
    # The data plane of a {Proxy}, and those before it whose last clients have not gone yet: how one follows another on the same
    # sockets, so that whoever connects meanwhile waits in their queue.
    # @api private
    class Planes
      # Seconds for clients to be answered, where nobody says another number.
      DRAIN = 10

      # @return [NativeShard::Plane] the present one
      attr_reader :plane
      # @return [Settings] by which that was started, or will be
      attr_reader :settings
      # @return [Ledger] what they have counted
      attr_reader :ledger

      # @param settings [Settings]
      # @param encrypts [Boolean] whether clients speak TLS
      # @raise [UsageError, UnsupportedError]
      def initialize(settings, encrypts:)
        @encrypts = encrypts
        check(settings)
        @settings = settings
        @plane = NativeShard::Plane.new
        @ledger = Ledger.new
        @retired = Retirement.new(@ledger)
        @changing = Monitor.new
      end

      # @param settings [Settings] of one that is to follow
      # @return [void]
      # @raise [UsageError, UnsupportedError] it could not
      def check(settings) = settings.encryption.of_clients(@encrypts) && nil

      # @param sockets [Array<Socket>] that listen; they may be closed behind it
      # @return [void]
      def start(sockets)
        @retired = Retirement.new(@ledger = Ledger.new)
        launch(@plane, @settings = @settings.dup, sockets)
      end

      # Ends all connections at once.
      # @return [void]
      def stop
        @changing.synchronize do
          stop_present # first: whoever is interrupted in what follows has stopped it
        ensure
          @retired.stop
          @launch&.close
        end
      end

      # @param within [Numeric] seconds for clients who wait for an answer
      # @param linger [Numeric] seconds before that, in which they are served as ever
      # @return [Boolean] whether nobody was cut
      def drain(within, linger)
        Retirement.linger(@plane, linger) if linger.positive?
        answered = retire_present(within)
        @changing.synchronize { @launch.close }
        @retired.stop
        answered
      end

      # @param settings [Settings] of the next one
      # @param within [Numeric, nil] seconds for clients of those before; nil: they may stay
      # @return [void]
      def replace(settings, within)
        @changing.synchronize do
          former = @launch
          with_listeners { |sockets| launch(plane = NativeShard::Plane.new, settings, sockets) && (@plane = plane) }
          @settings = settings
          @retired.hurry(within) if within
          @retired.add(former, within, DRAIN)
        end
      end

      # Nobody is served while the block runs; who connects waits. If it raises, all is as before.
      # @param settings [Settings] of the next one
      # @param within [Numeric] seconds for clients of those before
      # @return [void]
      def switch(settings, within)
        check(settings)
        # What could still fail when nobody is served any more.
        with_listeners { |sockets| Door.refuse_itself(settings.addresses, sockets.map(&:fileno)) }
        with_listeners do |sockets|
          @launch.close
          @retired.stop
          retire_present(within)
          yield
          @settings = settings
        ensure
          launch(@plane = NativeShard::Plane.new, @settings, sockets)
        end
      end

      # @return [Boolean]
      def running? = @plane.running?

      # @return [Topology]
      def topology = (@launch || @settings).topology

      # @return [Array<Hash{Symbol => Object}>] (see Proxy#nodes)
      def nodes
        raise UsageError, "the proxy was not started yet" unless @launch

        @launch.nodes(@settings.access, @ledger.nodes)
      end

      # @return [Hash{Symbol => Integer}] (see Proxy#figures)
      def figures = @ledger.figures

      # @return [Array<Socket>] copies of those that listen, to be closed
      def listeners = @plane.listeners.map { |descriptor| Socket.for_fd(descriptor) }

      private

      def with_listeners
        sockets = listeners
        yield sockets
      ensure
        sockets&.each(&:close)
      end

      def stop_present
        @ledger.close(@plane)
      ensure
        @plane.stop
      end

      def retire_present(within) = Retirement.finish(@plane, within) { @ledger.close(@plane) }

      def launch(plane, settings, sockets)
        @launch = Launch.new(plane, settings, sockets.map(&:fileno), encrypts: @encrypts) { outgrow }
        @launch.tap { |launch| @ledger.open(launch) }
      end

      # There are more nodes than the present one has room for: the next one has more.
      def outgrow
        @changing.synchronize { replace(@settings.dup, DRAIN) if running? }
      end
    end
  end
end
