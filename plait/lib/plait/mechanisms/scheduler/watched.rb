# frozen_string_literal: true

module Plait
  class Scheduler
    # Tells the watchdog whenever control passes from one fiber to another. Only a scheduler that has one pays for it.
    module Watched
      def run_until(...)
        @watchdog.busy
        super
      ensure
        @watchdog.idle
      end

      # Runs the new fiber at once, also when the loop isn't turning yet.
      def fiber(&block)
        return super unless home?

        begin
          @watchdog.busy
          super
        ensure
          @watchdog.idle
        end
      end

      # Before another fiber can run.
      def suspend
        @watchdog.leave
        super
      ensure
        @watchdog.busy
      end

      %i[io_wait io_read io_write process_wait].each do |name|
        define_method(name) do |*arguments|
          waits = ticks
          begin
            @watchdog.leave
            super(*arguments)
          ensure
            ticks == waits ? @watchdog.stay : @watchdog.busy
          end
        end
      end

      # A job is over; the next may start in the same fiber.
      def finished
        @watchdog.leave(may_raise: false)
        @watchdog.busy
        super
      end

      # Asked before each job that has not begun.
      def slice_left?
        @watchdog.busy
        super
      end

      private

      def run_ready
        @watchdog.busy
        super
      end
    end
  end
end
