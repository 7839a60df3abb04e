# frozen_string_literal: true

module Plait
  module Shard
    # Data planes that no longer listen, until their last clients are gone.
    class Retirement
      PERIOD = 0.02
      # Planes whose clients may stay without a limit; raising it keeps more threads alive.
      MOST = 3

      # A plane, its launch, and the end of the time of its clients (monotonic seconds; nil: there is none).
      Former = Struct.new(:plane, :launch, :ends) do
        def hurry(within) = self.ends = [ends, Deadline.now + within].compact.min

        def over? = !plane.running? || plane.figures[:clients].zero? || (ends && Deadline.now > ends)
      end

      # Ends a data plane when no answer is pending.
      # @param within [Numeric] seconds
      # @yield before it is stopped, when its figures are still there
      # @return [Boolean] whether no client was cut
      def self.finish(plane, within)
        plane.drain(true)
        ends = Deadline.now + within
        sleep(PERIOD) until plane.figures[:clients].zero? || !plane.running? || Deadline.now > ends
        left = plane.figures[:clients]
        yield
        plane.stop
        left.zero?
      end

      # Waits until clients have disconnected.
      def self.linger(plane, seconds)
        plane.drain(false)
        ends = Deadline.now + seconds
        sleep(PERIOD) until plane.figures[:clients].zero? || Deadline.now > ends
      end

      # @param totals [Totals] of the planes
      def initialize(totals)
        @totals = totals
        @formers = []
        @lock = Mutex.new
      end

      # Returns when the plane no longer listens.
      # @param launch [Launch] closed after the plane
      # @param within [Numeric, nil] seconds for its clients; nil: they may stay
      # @param limit [Numeric] seconds for clients of the oldest plane, where there are too many planes
      def add(launch, within, limit)
        launch.plane.drain(!within.nil?)
        @lock.synchronize do
          @formers << Former.new(launch.plane, launch, within && (Deadline.now + within))
          staying = @formers.reject(&:ends)
          hurry_each(staying.first(staying.size - MOST), limit) if staying.size > MOST
          @thread = Thread.new { end_planes } unless @thread&.alive?
        end
      end

      # Limits the time of all their clients.
      def hurry(within) = @lock.synchronize { hurry_each(@formers, within) } && nil

      # Ends all planes at once.
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

      # On one thread for all planes, which ends with the last plane.
      def end_planes
        while (over = take_over)
          over.each { |former| finish(former) }
          sleep(PERIOD)
        end
      end

      # @return [Array<Former>, nil] nil: there are no more planes
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
