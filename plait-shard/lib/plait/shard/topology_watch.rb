# frozen_string_literal: true

require "plait/values/errors"
require_relative "sources/sentinels"
require_relative "switch_watch"

module Plait
  module Shard
    # Keeps the data plane informed of who serves what: reads it again from time to time, and whenever a node has refused or a
    # Sentinel has told of a failover.
    # @api private
    class TopologyWatch
      # Seconds between two looks when nothing has happened, and when something has: until when, after that.
      PERIOD = 10
      SOON = 0.25
      ALERT = 10
      # At least, between two looks.
      GAP = 0.05

      # @return [Topology] the one that the data plane goes by
      attr_reader :topology

      # @param plane [NativeShard::Plane] that runs
      # @param source [Sources::Cluster, Sources::Sentinels]
      # @param numbers [NodeNumbers]
      # @param topology [Topology] that it was started with
      # @yield when there are more nodes than it has room for; nothing is watched behind that
      def initialize(plane, source, numbers, topology, &outgrown)
        @plane = plane
        @source = source
        @numbers = numbers
        @topology = topology
        @outgrown = outgrown
        @notice = IO.for_fd(plane.notice)
        @reader, @writer = IO.pipe
        @alert_until = 0
        @thread = Thread.new { watch }
        @switches = SwitchWatch.new(source) { @writer.write_nonblock("!", exception: false) } if source.is_a?(Sources::Sentinels)
      end

      # @return [void]
      def close
        @switches&.close
        unless @thread == Thread.current
          @thread.kill
          @thread.join
        end
        [@notice, @reader, @writer].each(&:close)
      end

      private

      def watch
        loop do
          doubted = wait
          break @outgrown.call unless look(doubted)

          sleep(GAP)
        end
      end

      # @return [Boolean] whether somebody has said that something has changed
      def wait
        ready, = IO.select([@notice, @reader], nil, nil, alert? ? SOON : PERIOD)
        return false unless ready

        @reader.read_nonblock(1024, exception: false) if ready.include?(@reader)
        @plane.notice_taken
        @alert_until = now + ALERT
        true
      end

      def alert? = now < @alert_until || @topology.partial?

      # @return [Boolean] false: there is no room for all nodes
      def look(doubted)
        found = @source.read(@topology, doubted: doubted)
        return true if found.equal?(@topology)
        return false unless @numbers.add(found.nodes)

        @plane.publish(*@numbers.plan(found))
        @topology = found
        true
      rescue StandardError
        true # who can't be asked now, or answers nonsense, is asked again; what is known stays
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
