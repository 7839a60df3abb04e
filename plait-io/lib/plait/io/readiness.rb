# frozen_string_literal: true

require "io/wait"

module Plait
  module Io
    # Waits for any of several descriptors, as IO.select does, and without stopping a fiber scheduler that Ruby 3.1 does
    # not tell about IO.select.
    module Readiness
      # Seconds for which each descriptor is asked in turn, under a scheduler that can't wait for several at once.
      TURN = 0.01

      module_function

      # @param seconds [Numeric, nil] nil: without a limit
      # @return [Array<IO>] the readable ones, empty after that time
      def readable(ios, seconds) = await(ios, :wait_readable, seconds) { |time| select(ios, nil, time)&.first }

      # @return [Array<IO>] the writable ones, empty after that time
      def writable(ios, seconds) = await(ios, :wait_writable, seconds) { |time| select(nil, ios, time)&.at(1) }

      # @param readables [Array<IO>]
      # @param writables [Array<IO>]
      # @param seconds [Numeric, nil] nil: without a limit
      # @return [Array(Array<IO>, Array<IO>)] the readable ones, and the writable ones
      def either(readables, writables, seconds)
        return in_slices(readables, writables, seconds) if scheduler && !scheduler.respond_to?(:io_select)

        (select(readables, writables, seconds) || [[], []]).first(2)
      end

      def await(ios, way, seconds)
        return ios.first.public_send(way, seconds) ? ios : [] if ios.size == 1
        return in_turn(ios, way, seconds) if scheduler && !scheduler.respond_to?(:io_select)

        yield(seconds) || []
      end

      def select(readables, writables, seconds)
        return IO.select(readables, writables, nil, seconds) unless scheduler
        return on_a_thread(readables, writables, seconds) unless scheduler.respond_to?(:offload_pool) # not ours

        scheduler.io_select(readables, writables, nil, seconds)
      end

      # Async's io_select (2.25 to 2.46 at least) waits on a thread as well. When the fiber's wait is broken off, it leaves
      # that thread waiting, without end where there is no time limit.
      def on_a_thread(readables, writables, seconds)
        thread = Thread.new { IO.select(readables, writables, nil, seconds) }
        thread.report_on_exception = false
        thread.value
      ensure
        thread&.kill
      end

      def in_turn(ios, way, seconds)
        turns = seconds ? (seconds / TURN).ceil.clamp(1, nil) : Float::INFINITY
        1.step(turns) do |turn|
          io = ios[turn % ios.size]
          return [io] if io.public_send(way, TURN)
        end
        []
      end

      def in_slices(readables, writables, seconds)
        0.step(seconds || Float::INFINITY, TURN) do |waited|
          ready = IO.select(readables, writables, nil, 0) and return ready.first(2)
          sleep([TURN, seconds ? seconds - waited : TURN].min)
        end
        [[], []]
      end

      def scheduler = Fiber.respond_to?(:current_scheduler) ? Fiber.current_scheduler : nil
    end
  end
end
