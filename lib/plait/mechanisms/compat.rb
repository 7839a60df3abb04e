# frozen_string_literal: true

require "io/nonblock"
require_relative "time_limit"

# What a Ruby can't hook into a fiber scheduler, or gets wrong, mended here and nowhere else. Each mend acts only in a
# non-blocking fiber of a {Plait::Scheduler}; everywhere else the method is Ruby's own.
module Plait
  module Mechanisms
    # Installed once, when the scheduler is loaded.
    module Compat
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

      # Kernel#select is IO.select under another name.
      module KernelSelect
        private

        def select(...) = IO.select(...)
      end

      # open(2) of a FIFO waits for the other end, which no hook sees; after it, the descriptor must not block.
      module Fifo
        def initialize(path = nil, mode = "r", *permissions, **options)
          return super unless Compat.scheduler && Compat.fifo?(path, mode)

          flags = options.fetch(:mode, mode)
          super(Compat.open_aside(path, flags, *permissions), flags, **options.except(:mode))
          self.nonblock = true
        end
      end

      # Kernel#open makes a File without calling its initialize.
      module KernelOpen
        private

        def open(path, *arguments, **options, &block)
          return super unless Compat.scheduler && Compat.fifo?(path, arguments.first)

          File.open(path, *arguments, **options, &block)
        end
      end

      # flock(2) waits in the kernel. Asking again, a little less often each time, can be cancelled; a thread could not.
      module Lock
        FIRST_PAUSE = 0.001
        LONGEST_PAUSE = 0.02

        def flock(operation)
          return super if Compat.scheduler.nil? || operation.anybits?(File::LOCK_NB | File::LOCK_UN)

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
        def join(limit = nil)
          return super unless limit && Compat.scheduler && alive?

          TimeLimit.enforce(limit, TimedOut) { super() }
        rescue TimedOut
          nil
        end
      end

      # How {Join} tells its own timeout from the caller's.
      class TimedOut < TimeoutError; end

      # IO#timeout came with Ruby 3.2, and Async calls it on every Ruby: pg, trilogy and mysql2 fail under it without.
      module Timeout
        # @return [Numeric, nil] seconds
        def timeout = @timeout

        # @param seconds [Numeric, nil]
        def timeout=(seconds)
          @timeout = seconds
        end
      end

      # Ruby hands the child of a fork its parent's scheduler and, with it, all of its parent's fibers.
      module Fork
        def _fork
          super.tap { |pid| Compat.detach if pid.zero? }
        end
      end

      class << self
        def fifo?(path, mode)
          return false unless path.is_a?(String) || path.respond_to?(:to_path)

          File.pipe?(path) && !(mode.is_a?(Integer) && mode.anybits?(File::NONBLOCK))
        end

        # On a thread of its own: it may wait for ever, and a pool's thread could not be had back by a kill alone.
        def open_aside(path, mode, *permissions)
          thread = Thread.new { IO.sysopen(path, mode, *permissions) }
          thread.report_on_exception = false
          thread.value
        ensure
          thread&.kill
        end

        def detach
          scheduler = Fiber.scheduler
          return unless scheduler.is_a?(Scheduler)

          scheduler.abandon
          Fiber.set_scheduler(nil)
        end

        def install
          IO.singleton_class.prepend(Select) unless Fiber.method_defined?(:storage)
          ::Kernel.prepend(KernelSelect)
          ::Kernel.prepend(KernelOpen)
          File.prepend(Fifo, Lock)
          Thread.prepend(Join)
          Process.singleton_class.prepend(Fork)
          install_io_timeout unless IO.method_defined?(:timeout)
        end

        private

        def install_io_timeout
          IO.include(Timeout)
          IO.const_set(:TimeoutError, Class.new(IOError))
        end
      end
    end
  end
end
