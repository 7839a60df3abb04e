# frozen_string_literal: true

module Plait
  module Shard
    # Data planes that listen no longer, until their last clients have gone.
    # @api private
    class Retirement
      PERIOD = 0.02
      # What only grows.
      TOTALS = %i[accepted commands errors bytes_in bytes_out node_failures clients_cut redirections].freeze

      # Ends a data plane when its clients are answered.
      # @param plane [NativeShard::Plane]
      # @param within [Numeric, nil] seconds; nil: it lets clients stay as long as they want
      # @yield before it is stopped, and its figures are gone
      # @return [Boolean] whether nobody was cut
      def self.finish(plane, within)
        plane.drain(!within.nil?)
        ends = now + within if within
        sleep(PERIOD) until plane.figures[:clients].zero? || !plane.running? || (ends && now > ends)
        left = plane.figures[:clients]
        yield if block_given?
        plane.stop
        left.zero?
      end

      # Lets clients go by themselves, so long.
      # @return [void]
      def self.linger(plane, seconds)
        plane.drain(false)
        ends = now + seconds
        sleep(PERIOD) until plane.figures[:clients].zero? || now > ends
      end

      def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      private_class_method :now

      def initialize
        @planes = {}
        @watches = {}
        @lock = Mutex.new
        @past = TOTALS.to_h { |name| [name, 0] }
      end

      # Returns when the plane listens no longer.
      # @param watch [TopologyWatch, nil] that it goes on with, and which is closed behind it
      # @return [void]
      def add(plane, within, watch = nil)
        plane.drain(!within.nil?)
        @lock.synchronize do
          @watches[plane] ||= watch
          @planes[plane] = Thread.new do
            Retirement.finish(plane, within) { forget(plane) }
            close_watch(plane)
          end
        end
      end

      # Lets none of them stay any longer than that.
      # @return [void]
      def hurry(within)
        planes = @lock.synchronize { @planes.dup.tap { @planes.clear } }
        planes.each_value { |thread| thread.kill.join }
        planes.each_key { |plane| add(plane, within) }
      end

      # Of one that is about to be stopped.
      # @return [void]
      def remember(plane)
        figures = plane.figures
        @lock.synchronize { TOTALS.each { |name| @past[name] += figures[name] } }
      end

      # @return [Hash{Symbol => Integer}] of those that are retired and those that were
      def figures
        @lock.synchronize { @planes.keys.map(&:figures).inject(@past) { |sums, own| sums.merge(own) { |_, a, b| a + b } } }
      end

      # Ends them at once.
      # @return [void]
      def stop
        planes = @lock.synchronize { @planes.dup }
        planes.each_key { |plane| forget(plane) }
        planes.each_key(&:stop)
        planes.each_value(&:join)
        planes.each_key { |plane| close_watch(plane) }
      end

      private

      def close_watch(plane) = @lock.synchronize { @watches.delete(plane) }&.close

      def forget(plane)
        remember(plane) if @lock.synchronize { @planes.delete(plane) }
      end
    end
  end
end
