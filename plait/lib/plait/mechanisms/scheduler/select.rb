# frozen_string_literal: true

require "io/wait"
require_relative "../../values/deadline"

module Plait
  class Scheduler
    # IO.select over the event loop: a job a descriptor waits for it, and the first that is ready wakes the caller.
    class Select
      # Waits for one descriptor on behalf of the caller.
      class Watch
        # @param wait [Wait] the caller's
        def initialize(select, scheduler, io, events, wait)
          @select = select
          @scheduler = scheduler
          @io = io
          @events = events
          @wait = wait
        end

        def run
          @fiber = Fiber.current
          @scheduler.io_wait(@io, @events) if @wait.fiber && !@wait.woken?
        rescue Select::Done
          nil
        rescue IOError, SystemCallError => e
          @select.failed(e)
        ensure
          @fiber = nil
          @scheduler.finished
          @scheduler.wake(@wait)
        end

        def stop = @fiber && @scheduler.interrupt(@fiber, Done) { @fiber }
      end

      NATIVE = IO.method(:select)
      MASKS = [IO::READABLE, IO::WRITABLE, IO::PRIORITY].freeze
      private_constant :NATIVE, :MASKS

      # Ends a watch that nobody needs any longer.
      class Done < Exception; end # rubocop:disable Lint/InheritException

      class << self
        # Ruby's own select, without waiting: it also knows what lies in an IO's buffer. From Ruby 3.2 on it would call
        # the hook again, were the fiber not a blocking one for the moment.
        def look(lists)
          Fiber.respond_to?(:blocking) ? Fiber.blocking { NATIVE.call(*lists, 0) } : NATIVE.call(*lists, 0)
        end

        # For who has no time left. A look may say that nothing is ready although something is: when the thread was
        # interrupted just before, Ruby does not ask the kernel at all. What is always ready, beside the others, tells.
        def last_look(lists)
          File.open(File::NULL) { |always| sure_look(always, *lists) }
        rescue Errno::EMFILE, Errno::ENFILE
          look(lists)
        end

        # @param events [Integer] as for {IoHooks#io_wait}
        # @return [Integer, false] those for which the IO is ready now
        def events(io, events)
          ready = last_look(MASKS.map { |mask| [io] if events.anybits?(mask) })
          ready ? MASKS.zip(ready).sum { |mask, ios| ios.size * mask } : false
        end

        private

        def sure_look(always, readables, *others)
          lists = [[*readables, always], *others]
          nil until (ready = look(lists))
          ready.first.pop
          ready unless ready.all?(&:empty?)
        end
      end

      def initialize(scheduler, readables, writables, exceptables)
        @scheduler = scheduler
        @lists = [readables, writables, exceptables]
      end

      # @param timeout [Numeric, nil] seconds
      # @return [Array(Array, Array, Array), nil]
      def wait(timeout)
        limit = timeout && (Deadline.now + timeout)
        until (ready = Select.look(@lists))
          raise @failure if @failure
          return Select.last_look(@lists) if limit && (timeout = limit - Deadline.now) <= 0

          watch(timeout)
        end
        ready
      end

      # What a watch met, such as a descriptor that was closed. Ruby's own select gets the first word about it.
      def failed(error) = @failure = error

      private

      def watch(timeout)
        watches = []
        @scheduler.park(timeout) do |wait|
          interests.each { |io, events| watches << Watch.new(self, @scheduler, io, events, wait) }
          watches.each { |watch| @scheduler.spawn(watch) }
        end
      ensure
        watches&.each(&:stop)
      end

      def interests
        @lists.zip(MASKS).each_with_object({}.compare_by_identity) do |(list, mask), all|
          Array(list).each do |item|
            io = item.to_io
            all[io] = all.fetch(io, 0) | mask
          end
        end
      end
    end
  end
end
