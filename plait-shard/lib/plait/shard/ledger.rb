# frozen_string_literal: true

require_relative "native"

module Plait
  module Shard
    # What all data planes of a proxy have counted: those that run, and those that have ended. No total ever falls.
    # @api private
    class Ledger
      # Commands of planes that have ended, and that are remembered as slow.
      SLOW = 128

      def initialize
        @lock = Mutex.new
        @launches = {}
        @past = { figures: NativeShard::Plane.new.figures, commands: {}, nodes: {} }
        @slow = []
      end

      # @param launch [Launch] that counts from now on
      # @return [void]
      def open(launch) = @lock.synchronize { @launches[launch.plane] = launch } && nil

      # @param plane [NativeShard::Plane] that is about to be stopped
      # @return [void]
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

      # @return [Hash{String => Array}] by command: how often it came, seconds, answers by bucket of their time
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
  end
end
