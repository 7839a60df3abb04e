# frozen_string_literal: true

require "io/nonblock"
require_relative "time_limit"
require_relative "../values/errors"

# What a Ruby can't hook into a fiber scheduler, or gets wrong, mended here and nowhere else. Each mend acts only in a
# non-blocking fiber of a {Plait::Scheduler}; everywhere else the method is Ruby's own.
module Plait
  module Mechanisms
    # Installed once, by the first scheduler.
    module Compat
      KNOWING = Mutex.new
      private_constant :KNOWING

      @loops = []

      def self.scheduler
        scheduler = Fiber.current_scheduler
        scheduler if scheduler.is_a?(Scheduler)
      end

      # Ruby 3.1 has no io_select hook (3.2 has): IO.select stops the thread.
      module Select
        def select(readables, writables = nil, exceptables = nil, timeout = nil)
          scheduler = Compat.scheduler
          return super unless scheduler && timeout != 0

          scheduler.io_select(readables, writables, exceptables, timeout)
        end
      end

      # Kernel#select and Kernel.select are IO.select under other names.
      module KernelSelect
        def select(...) = IO.select(...)
      end

      # open(2) of a FIFO waits for the other end, which no hook sees; after it, the descriptor must not block.
      module Fifo
        def initialize(*arguments, **options)
          path, mode, = arguments
          mode ||= options[:mode]
          return super unless Compat.scheduler && Compat.fifo?(path, mode, options[:flags])

          # Ruby 3.1 knows a descriptor by there being two arguments at most, options included.
          Compat.open_aside(*arguments, **options) { |fd| super(fd, mode: mode || "r", **options.except(:mode, :perm)) }
          self.nonblock = true
        end
      end

      # The methods of IO and File that open, read or write, and close make a File without calling its initialize.
      module Whole
        OPENING = %i[mode external_encoding internal_encoding encoding textmode binmode perm flags].freeze

        def sysopen(path, mode = nil, *permissions)
          return super unless Compat.whole_fifo?(path, mode)

          Compat.open_aside(path, mode, *permissions, &:itself)
        end

        def read(path, length = nil, offset = nil, **options)
          return super unless Compat.whole_fifo?(path)

          File.open(path, options[:mode] || "r", **options.except(:mode)) { |file| Compat.at(file, offset).read(length) }
        end

        def binread(path, length = nil, offset = nil)
          return super unless Compat.whole_fifo?(path)

          File.open(path, "rb") { |file| Compat.at(file, offset).read(length) }
        end

        def readlines(path, *separators, **options)
          return super unless Compat.whole_fifo?(path)

          opening = options.slice(*OPENING)
          File.open(path, "r", **opening) { |file| file.readlines(*separators, **options.except(*OPENING)) }
        end

        def foreach(path, *separators, **options, &block)
          return super unless block && Compat.whole_fifo?(path)

          opening = options.slice(*OPENING)
          File.open(path, "r", **opening) { |file| file.each_line(*separators, **options.except(*OPENING), &block) }
          nil
        end

        def write(path, data, offset = nil, **options)
          return super unless Compat.whole_fifo?(path)

          File.open(path, options[:mode] || "w", **options.except(:mode)) { |file| Compat.at(file, offset).write(data) }
        end

        def binwrite(path, data, offset = nil, **options)
          return super unless Compat.whole_fifo?(path)

          File.open(path, options[:mode] || "wb", **options.except(:mode)) { |file| Compat.at(file, offset).write(data) }
        end
      end

      # An open(2) under way in a thread.
      class Opening
        class CalledOff < Exception; end # rubocop:disable Lint/InheritException

        TRIES = 20
        PAUSE = 0.002

        # @param arguments as File.new takes them
        def initialize(*arguments, **options)
          @thread = Thread.handle_interrupt(CalledOff => :never) { Thread.new { open(arguments, options) } }
        end

        # @return [Integer]
        def descriptor
          @thread.join
          @file.fileno
        end

        # The descriptor is somebody else's from now on.
        def keep
          @file.autoclose = false
          @file = nil
        end

        # Also when further interruptions come: the last of them is raised then.
        def drop
          call_off if @thread.alive?
          @file&.close
        rescue Exception => e
          later = e
          retry
        ensure
          raise later if later
        end

        private

        def open(arguments, options)
          Thread.current.report_on_exception = false
          @file = File.new(*arguments, **options)
        rescue Errno::EINTR
          retry unless @over
        end

        # An exception that is never let in breaks the system call off all the same, and no more than that: one that is
        # let in (a kill, too) loses the descriptor when the call has just succeeded.
        def call_off
          @over = true
          TRIES.times do
            @thread.raise(CalledOff)
            return if @thread.join(PAUSE)
          end
          @thread.kill
        end
      end

      # flock(2) waits in the kernel. Asking again, a little less often each time, can be cancelled; a thread could not.
      module Lock
        FIRST_PAUSE = 0.001
        LONGEST_PAUSE = 0.02

        def self.waits?(operation) = operation.is_a?(Integer) && operation.nobits?(File::LOCK_NB | File::LOCK_UN)

        def flock(operation)
          return super unless Compat.scheduler && Lock.waits?(operation)

          pause = FIRST_PAUSE
          until (result = super(operation | File::LOCK_NB))
            sleep(pause)
            pause = [pause * 2, LONGEST_PAUSE].min
          end
          result
        end
      end

      # Ruby 3.1: join with a timeout never comes back in a fiber (bug 19709). Without one it does.
      module Join
        # (In a Thread, `raise` would be Thread#raise.)
        def self.check(limit)
          return if limit.is_a?(Numeric) && limit.real?

          raise TypeError, "no implicit conversion of #{limit.class} into Float"
        end

        def join(limit = nil)
          return super unless limit && Compat.scheduler && alive?

          Join.check(limit)
          TimeLimit.enforce(limit, TimedOut) { super() }
        rescue TimedOut
          nil
        end
      end

      # How {Join} tells its own timeout from the caller's.
      class TimedOut < TimeoutError; end

      # Ruby 3.1: a fiber that is interrupted in ConditionVariable#wait leaves it without the mutex, and `synchronize`
      # then hides the interruption behind a ThreadError.
      module MutexSleep
        def sleep(timeout = nil)
          scheduler = Compat.scheduler
          return super unless scheduler

          started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          woken = scheduler.sleep_unlocked(self, timeout)
          (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started).round if woken
        end
      end

      # The native `unblock` keeps in mind what a thread's priority was.
      module Priority
        def priority=(priority)
          @plait_priority = nil
          super
        end
      end

      # A thread inherits its priority, and must not inherit what is meant for an instant. (As with all methods here, no
      # define_method: ractors can't call what that has made.)
      module Inherited
        def new(...)
          Compat.lower_priority
          super
        end

        def start(...)
          Compat.lower_priority
          super
        end

        def fork(...)
          Compat.lower_priority
          super
        end
      end

      # A fiber that leaves by an exception may be the one a signal has chosen; then the others would wait for ever. Ruby
      # tells the scheduler about the mutex only.
      module ConditionWait
        def wait(*)
          super
        rescue Exception
          signal if Compat.scheduler
          raise
        end
      end

      # Ruby 3.1: Enumerator#next runs the enumerator in a fiber that blocks, so whatever that waits for stops the loop.
      # Here it gets one that does not. An enumerator that was begun elsewhere stays with Ruby's own.
      module External
        def next_values = (cursor = plait_cursor) ? cursor.take : super

        def peek_values = (cursor = plait_cursor) ? cursor.peek : super

        def next = (cursor = plait_cursor) ? Compat.one(cursor.take) : super

        def peek = (cursor = plait_cursor) ? Compat.one(cursor.peek) : super

        def feed(value) = @plait_cursor ? @plait_cursor.feed(value) : super

        def rewind
          @plait_cursor = nil if @plait_cursor
          super
        end

        private

        def initialize_copy(other)
          raise TypeError, "can't copy execution context" if other.instance_variable_get(:@plait_cursor)

          super
        end

        def plait_cursor
          @plait_cursor || (Compat.scheduler && !Compat.begun?(self) ? @plait_cursor = Cursor.new(self) : nil)
        end
      end

      # Where {External} is in an enumerator.
      class Cursor
        def initialize(enumerator)
          @enumerator = enumerator
          @fed = []
        end

        def take = peek.tap { @ahead = nil }

        def peek
          raise @over if @over

          @ahead ||= advance
        end

        def feed(value)
          raise TypeError, "feed value already set" unless @fed.empty?

          @fed << value
          nil
        end

        private

        def advance
          @fiber = Fiber.new(blocking: false) { run } unless @fiber&.alive?
          @fiber.resume || raise(@over)
        end

        def run
          value = @enumerator.each do |*values|
            Fiber.yield(values)
            @fed.shift
          end
          @over = Compat.stop_iteration(value)
          nil
        end
      end

      # Before Ruby 3.3 a fiber that has resumed another one can't be raised into: who waits inside of whom, then.
      module Resume
        def resume(...)
          return super unless Compat.scheduler

          outer = Fiber.current
          begin
            outer.instance_variable_set(:@plait_inner, self)
            super
          ensure
            outer.instance_variable_set(:@plait_inner, nil)
          end
        end
      end

      # IO#timeout came with Ruby 3.2, and Async calls it on every Ruby: pg, trilogy and mysql2 fail under it without.
      module Timeout
        # @return [Numeric, nil] seconds
        def timeout = @timeout

        # @param seconds [Numeric, nil]
        def timeout=(seconds)
          @timeout = seconds
        end
      end

      # Ruby tells the threads that wait for an IO that it is closed, and schedulers only from Ruby 4.0 on. The fibers
      # leave before that: one that stayed would read from the next IO that gets the descriptor's number.
      module Close
        def close
          return super unless (scheduler = Compat.turn_away(self))

          begin
            scheduler.yield unless Fiber.current.blocking?
            nil
          ensure
            super
            scheduler.turn_away(self) # who has rescued it, and waits again
          end
        end
      end

      # These close an IO that has no other half. (A socket has methods of its own for its halves.)
      module CloseHalf
        def close_read
          super
          Compat.turn_away(self) if closed?
          nil
        end

        def close_write
          super
          Compat.turn_away(self) if closed?
          nil
        end
      end

      # An IO may be closed by another thread than that of the fibers that wait for it.
      module Known
        def set_scheduler(scheduler) # rubocop:disable Naming/AccessorMethodName -- Ruby's name
          super.tap { Compat.know(scheduler) if scheduler.is_a?(Scheduler) }
        end
      end

      # Ruby hands the child of a fork its parent's scheduler and, with it, all of its parent's fibers.
      module Fork
        def _fork
          super.tap { |pid| Compat.detach if pid.zero? }
        end
      end

      class << self
        # @param modes [Array<Object>] as given to open: flags, a String or nothing
        def fifo?(path, *modes)
          return false unless path.is_a?(String) || path.respond_to?(:to_path)

          File.pipe?(path) && modes.none? { |mode| mode.is_a?(Integer) && mode.anybits?(File::NONBLOCK) }
        end

        def whole_fifo?(path, *modes) = scheduler && fifo?(path, *modes)

        # @raise [Errno::ESPIPE] which a FIFO has to say to any offset
        def at(file, offset) = file.tap { file.seek(offset) if offset }

        def know(scheduler)
          KNOWING.synchronize { @loops = [*@loops.select { |other| turning?(other) }, scheduler] }
        end

        # @return [Scheduler, nil] the thread's, also when the current fiber blocks; nil when none of its fibers waits
        def turn_away(io)
          return unless main_ractor? # no loop of ours turns elsewhere

          own = Fiber.scheduler
          @loops.each { |other| other.turn_away(io) if turning?(other) && !other.equal?(own) }
          own if own.is_a?(Scheduler) && own.turn_away(io)
        end

        # On a thread of its own: it may wait for ever, and a pool's thread could not be had back by a kill alone.
        # @param arguments as File.new takes them
        # @yieldparam descriptor [Integer] which is the block's, unless that raises
        # @return [Object] what the block returns
        def open_aside(*arguments, **options)
          opening = Opening.new(*arguments, **options)
          yield(opening.descriptor).tap { opening.keep }
        ensure
          opening&.drop
        end

        # @return [Fiber] the one that waits, when a fiber has resumed others
        def innermost(fiber)
          while (inner = fiber.instance_variable_get(:@plait_inner))
            fiber = inner
          end
          fiber
        end

        # @return [Boolean] whether {MutexSleep} is there. Where Ruby's own is written in Ruby it does it right, and
        #   ConditionVariable#wait no longer asks for the method.
        def mutex_sleep? = @mutex_sleep

        # @return [Boolean] whether Ruby's own fiber runs an enumerator, which then can't be copied
        def begun?(enumerator)
          enumerator.frozen? || !enumerator.dup
        rescue TypeError
          true
        end

        # @return [Object] what Enumerator#next makes of several values, or none
        def one(values) = values.size > 1 ? values : values.first

        # Ruby alone can give it its result.
        def stop_iteration(result)
          @next.bind_call(Enumerator.new { result })
        rescue StopIteration => e
          e
        end

        # @return [Boolean] whether the current fiber is the one that its thread began with
        def root?
          fiber = Fiber.current
          thread = Thread.current
          return true if fiber.equal?(thread.instance_variable_get(:@plait_root))

          began_with?(fiber) && thread.instance_variable_set(:@plait_root, fiber) && true
        end

        def lower_priority
          thread = Thread.current
          return unless thread.instance_variable_get(:@plait_raised)

          thread.instance_variable_set(:@plait_raised, false)
          thread.send(:plait_priority=, thread.instance_variable_get(:@plait_priority))
        end

        def detach
          scheduler = Fiber.scheduler
          return unless scheduler.is_a?(Scheduler)

          scheduler.abandon
          Fiber.set_scheduler(nil)
        end

        # With the first scheduler, not before: a program that has none keeps its Ruby as it was.
        def install
          return if @installed

          @installed = true
          install_io
          install_waits
          install_fibers
          Process.singleton_class.prepend(Fork)
        end

        private

        def main_ractor? = !defined?(::Ractor) || ::Ractor.current == ::Ractor.main

        # Ruby can't be asked. It says a fiber's source line, but has none for those made from its own functions (the fibers
        # of Enumerators), and it says of those alone that they were resumed.
        def began_with?(fiber)
          return false unless fiber.blocking? && fiber.inspect.match?(/\A#<Fiber:0x\h+ \(\w+\)>\z/)

          Fiber.new(blocking: true) { fiber.resume }.resume
        rescue FiberError => e
          !e.message.include?("double resume")
        end

        # On Ruby 3.1 a thread that ends by an exception does not close its scheduler.
        def turning?(scheduler) = !scheduler.closed? && scheduler.thread.alive?

        def install_io
          IO.singleton_class.prepend(Whole)
          IO.singleton_class.prepend(Select) unless Fiber.method_defined?(:storage)
          install_kernel_select
          File.prepend(Fifo, Lock)
          install_close if RUBY_VERSION < "4.0"
          install_io_timeout unless IO.method_defined?(:timeout)
        end

        # As functions of the module, and as private methods of every object.
        def install_kernel_select
          ::Kernel.singleton_class.prepend(KernelSelect)
          ::Kernel.prepend(KernelSelect.dup.tap { |hidden| hidden.send(:private, :select) })
        end

        def install_close
          IO.prepend(Close, CloseHalf)
          Fiber.singleton_class.prepend(Known)
        end

        def install_io_timeout
          IO.include(Timeout)
          IO.const_set(:TimeoutError, Class.new(IOError))
        end

        def install_waits
          Thread.prepend(Join)
          ConditionVariable.prepend(ConditionWait)
          @mutex_sleep = Mutex.instance_method(:sleep).source_location.nil?
          Mutex.prepend(MutexSleep) if @mutex_sleep
          install_priority if RUBY_VERSION < "3.3"
        end

        # The native `unblock` makes a time slice longer for an instant; see rb_scheduler.c.
        def install_priority
          Thread.alias_method(:plait_priority=, :priority=)
          Thread.send(:private, :plait_priority=)
          Thread.prepend(Priority)
          Thread.singleton_class.prepend(Inherited)
        end

        def install_fibers
          @next = Enumerator.instance_method(:next)
          Enumerator.prepend(External) if Enumerator.new { |values| values << Fiber.current.blocking? }.next
          Fiber.prepend(Resume) unless Fiber.method_defined?(:kill)
        end
      end
    end
  end
end
