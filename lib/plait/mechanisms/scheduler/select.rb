# frozen_string_literal: true

require "io/wait"

module Plait
  class Scheduler
    # IO.select over the event loop: a job a descriptor waits for it, and the first that is ready wakes the caller.
    class Select
      # Waits for one descriptor on behalf of the caller.
      class Watch
        def initialize(select, scheduler, io, events)
          @select = select
          @scheduler = scheduler
          @io = io
          @events = events
        end

        def run
          @fiber = Fiber.current
          @scheduler.io_wait(@io, @events) if @select.waiting?
        rescue Select::Done, IOError, SystemCallError
          nil # a closed descriptor: the last look at all of them reports it
        ensure
          @fiber = nil
          @scheduler.finished
          @select.wake
        end

        def stop = @fiber && @scheduler.interrupt(@fiber, Done) { @fiber }
      end

      NATIVE = IO.method(:select)
      private_constant :NATIVE

      # Ends a watch that nobody needs any longer.
      class Done < Exception; end # rubocop:disable Lint/InheritException

      def initialize(scheduler, readables, writables, exceptables)
        @scheduler = scheduler
        @lists = [readables, writables, exceptables]
      end

      # @param timeout [Numeric, nil] seconds
      # @return [Array(Array, Array, Array), nil]
      def wait(timeout)
        now = look
        return now if now || timeout&.zero?

        watch(timeout)
        look
      end

      def waiting? = !@wait.nil? && !@wait.woken?

      def wake = @wait && @scheduler.wake(@wait)

      private

      # Ruby's own select, without waiting: it also knows what lies in an IO's buffer. From Ruby 3.2 on it would call
      # this hook again, were the fiber not a blocking one for the moment.
      def look
        Fiber.respond_to?(:blocking) ? Fiber.blocking { NATIVE.call(*@lists, 0) } : NATIVE.call(*@lists, 0)
      end

      def watch(timeout)
        watches = interests.map { |io, events| Watch.new(self, @scheduler, io, events) }
        @scheduler.park(timeout) do |wait|
          @wait = wait
          watches.each { |watch| @scheduler.spawn(watch) }
        end
      ensure
        @wait = nil
        watches&.each(&:stop)
      end

      def interests
        masks = [IO::READABLE, IO::WRITABLE, IO::PRIORITY]
        @lists.zip(masks).each_with_object({}.compare_by_identity) do |(list, mask), all|
          Array(list).each do |item|
            io = item.to_io
            all[io] = all.fetch(io, 0) | mask
          end
        end
      end
    end
  end
end
