# frozen_string_literal: true

module Plait
  module Shard
    # Data planes that listen no longer, until their last clients have gone.
    # @api private
    class Retirement
      PERIOD = 0.02
      # Planes whose clients may stay as long as they want: each has threads of its own.
      MOST = 3

      # A plane, the launch that keeps it informed, and when its clients have to be gone.
      Former = Struct.new(:plane, :launch, :ends) do
        def hurry(within) = self.ends = [ends, Retirement.now + within].compact.min

        def over? = !plane.running? || plane.figures[:clients].zero? || (ends && Retirement.now > ends)
      end
      private_constant :Former

      # Ends a data plane when its clients are answered.
      # @param plane [NativeShard::Plane]
      # @param within [Numeric] seconds
      # @yield before it is stopped, and its figures are gone
      # @return [Boolean] whether no client was cut
      def self.finish(plane, within)
        plane.drain(true)
        ends = now + within
        sleep(PERIOD) until plane.figures[:clients].zero? || !plane.running? || now > ends
        left = plane.figures[:clients]
        yield
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

      # @param totals [Totals] of the planes
      def initialize(totals)
        @totals = totals
        @formers = []
        @lock = Mutex.new
      end

      # Returns when the plane listens no longer.
      # @param launch [Launch] that is closed behind it
      # @param within [Numeric, nil] seconds for its clients; nil: they may stay
      # @param limit [Numeric] seconds for clients of the oldest plane, where there are too many
      # @return [void]
      def add(launch, within, limit)
        launch.plane.drain(!within.nil?)
        @lock.synchronize do
          @formers << Former.new(launch.plane, launch, within && (Retirement.now + within))
          staying = @formers.reject(&:ends)
          hurry_each(staying.first(staying.size - MOST), limit) if staying.size > MOST
          @thread = Thread.new { end_those_that_are_over } unless @thread&.alive?
        end
      end

      # Lets none of them stay any longer than that.
      # @return [void]
      def hurry(within) = @lock.synchronize { hurry_each(@formers, within) } && nil

      # Ends them at once.
      # @return [void]
      def stop
        formers, thread = @lock.synchronize { [@formers, @thread].tap { @formers = [] } }
        formers.each { |former| finish(former) }
        thread&.join
      end

      private

      def hurry_each(formers, within)
        formers.each do |former|
          former.hurry(within)
          former.plane.drain(true)
        end
      end

      # One thread for all: it ends with the last of them.
      def end_those_that_are_over
        while (over = take_over)
          over.each { |former| finish(former) }
          sleep(PERIOD)
        end
      end

      # @return [Array<Former>, nil] nil: there are none any longer
      def take_over
        @lock.synchronize do
          over, @formers = @formers.partition(&:over?)
          @thread = nil if over.empty? && @formers.empty?
          over if @thread
        end
      end

      def finish(former)
        @totals.close(former.plane)
        former.plane.stop
        former.launch.close
      end
    end
    private_constant :Retirement
  end
end
