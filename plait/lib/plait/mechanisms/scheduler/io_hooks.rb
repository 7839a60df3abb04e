# frozen_string_literal: true

require_relative "wait"

module Plait
  class Scheduler
    # The hooks of Fiber::Scheduler that wait for descriptors.
    module IOHooks
      # Ruby 4.0 warns at the first IO::Buffer of a process, even if Ruby itself makes it for these hooks.
      def self.warn_of_no_buffer
        experimental = Warning[:experimental]
        Warning[:experimental] = false
        IO::Buffer.allocate
      ensure
        Warning[:experimental] = experimental
      end
      private_class_method :warn_of_no_buffer

      warn_of_no_buffer if RUBY_ENGINE == "ruby" && RUBY_VERSION >= "4.0"

      # As Ruby says it in threads.
      CLOSED = "stream closed in another thread"

      # @param events [Integer] IO::READABLE | IO::WRITABLE | IO::PRIORITY
      # @param timeout [Float, nil] seconds
      # @return [Integer, false] the events that came, false after the timeout
      # @raise [IO::TimeoutError] after the IO's own timeout
      # @raise [IOError] when another fiber closes the IO
      def io_wait(io, events, timeout = nil)
        @ticks += 1
        limit = timeout || timeout_of(io)
        return noted(io) { @selector.io_wait(Fiber.current, io, events) } unless limit

        came = within(limit) { noted(io) { @selector.io_wait(Fiber.current, io, events) } } || Select.events(io, events)
        raise IO::TimeoutError, overdue(limit) unless came || timeout

        came
      end

      # As {#io_wait}, whatever timeout the IO has itself. What came is for the caller to find out.
      # @param limit [Float, nil] seconds
      # @api private
      def watch(io, events, limit = nil)
        @ticks += 1
        return noted(io) { @selector.io_wait(Fiber.current, io, events) } unless limit

        within(limit) { noted(io) { @selector.io_wait(Fiber.current, io, events) } }
      end

      # @return [Integer] bytes read, or -errno
      # @raise [IOError] when another fiber closes the IO
      def io_read(io, buffer, length, offset = 0)
        @ticks += 1
        bounded(io) { @selector.io_read(Fiber.current, io, buffer, at_least_one(length, buffer, offset), offset) }
      end

      # @return [Integer] bytes written, or -errno
      # @raise [IOError] when another fiber closes the IO
      def io_write(io, buffer, length, offset = 0)
        @ticks += 1
        bounded(io) { @selector.io_write(Fiber.current, io, buffer, at_least_one(length, buffer, offset), offset) }
      end

      # The native part has the same for fibers that wait by its hooks.
      # @return [Array<Fiber>] fibers that wait for the IO now, by the hooks above
      # @api private
      def waiting_for(io) = waiting_here(io)

      # Raises an IOError in the fibers that wait for the IO, when the loop next turns.
      # @return [Boolean] whether there are any
      # @api private
      def turn_away(io)
        fibers = everybody_waiting_for(io)
        fibers.each { |fiber| interrupt(fiber, IOError, CLOSED) { everybody_waiting_for(io).include?(fiber) } }
        !fibers.empty?
      end

      # A disk has no readiness to wait for: a thread does the reading.
      # @return [Integer] bytes read, or -errno
      def io_pread(io, buffer, from, length, offset) = offload { buffer.pread(io, from, length, offset) }

      # @return [Integer] bytes written, or -errno
      def io_pwrite(io, buffer, from, length, offset) = offload { buffer.pwrite(io, from, length, offset) }

      # @param timeout [Numeric, nil] seconds
      # @return [Array(Array, Array, Array), nil] as IO.select
      # @raise [ArgumentError, TypeError] as IO.select, which leaves the check to the scheduler
      def io_select(readables, writables = nil, exceptables = nil, timeout = nil)
        check_interval(timeout) if timeout
        return Select.look([readables, writables, exceptables]) if timeout == 0

        Select.new(self, readables, writables, exceptables).wait(timeout)
      end

      private

      # With a minimum of 0 the selector would not wait, and Ruby's sysread and syswrite then raise EAGAIN.
      def at_least_one(length, buffer, offset) = length.zero? && buffer.size > offset ? 1 : length

      def waiting_here(io) = (@waiting && @waiting[io]) || []

      def everybody_waiting_for(io) = waiting_for(io) | waiting_here(io)

      def noted(io)
        @waiting ||= {}.compare_by_identity
        (@waiting[io] ||= []) << Fiber.current
        yield
      ensure
        forget(io)
      end

      def forget(io)
        fibers = @waiting[io]
        fibers.delete(Fiber.current)
        @waiting.delete(io) if fibers.empty?
      end

      # The timer hands over to the fiber inside the selector's wait, which then reports that nothing came.
      def within(seconds)
        wait = Wait.new(Fiber.current)
        arm(wait, seconds)
        yield
      ensure
        disarm(wait) if wait # an interrupt may come before it is made
      end

      def bounded(io, &block)
        seconds = timeout_of(io)
        return noted(io, &block) unless seconds

        timeout_after(seconds, IO::TimeoutError, overdue(seconds)) { noted(io, &block) }
      end

      # Ruby 3.1 has the method by our patch alone.
      def timeout_of(io) = io.respond_to?(:timeout) ? io.timeout : nil

      def overdue(seconds) = "the IO was not ready within #{seconds} s"
    end

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
          @scheduler.watch(@io, @events) if @wait.fiber && !@wait.woken?
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

      # Ends a watch that is no longer needed.
      class Done < Exception; end # rubocop:disable Lint/InheritException

      class << self
        # Ruby's own select, without waiting: it also knows what lies in an IO's buffer. From Ruby 3.2 on it would call
        # the hook again, were the fiber not a blocking one for the moment.
        def look(lists) = Fiber.respond_to?(:blocking) ? Fiber.blocking { NATIVE.call(*lists, 0) } : NATIVE.call(*lists, 0)

        # For a caller that has no time left. A look may say that nothing is ready although something is: when the thread was
        # interrupted just before, Ruby does not ask the kernel at all.
        if Native.available?
          def last_look(lists)
            nil until (ready = look(lists)) || !NativePipe.ready?(*lists)
            ready
          end
        else
          # What is always ready, beside the others, tells.
          def last_look(lists)
            File.open(File::NULL) { |always| sure_look(always, *lists) }
          rescue Errno::EMFILE, Errno::ENFILE
            look(lists)
          end
        end

        # @param events [Integer] as for {IOHooks#io_wait}
        # @return [Integer, false] events for which the IO is ready now
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
      def wait(timeout)
        limit = timeout && (Deadline.now + timeout)
        until (ready = Select.look(@lists))
          raise @failure if @failure
          return Select.last_look(@lists) if limit && (timeout = limit - Deadline.now) <= 0

          watch(timeout)
        end
        ready
      end

      # The error of a watch, such as a closed descriptor. Ruby's own select reports it first.
      def failed(error) = @failure = error

      private

      def watch(timeout)
        wanted = interests
        return @scheduler.watch(*wanted.first, timeout) if wanted.size == 1

        watches = []
        @scheduler.park(timeout) do |wait|
          wanted.each { |io, events| watches << Watch.new(self, @scheduler, io, events, wait) }
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
    private_constant :IOHooks, :Select
  end
end
