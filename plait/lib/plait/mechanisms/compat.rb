# frozen_string_literal: true

require_relative "compat/close"
require_relative "compat/condition_wait"
require_relative "compat/external"
require_relative "compat/fifo"
require_relative "compat/fork"
require_relative "compat/io_timeout"
require_relative "compat/join"
require_relative "compat/kernel_select"
require_relative "compat/lock"
require_relative "compat/mutex_sleep"
require_relative "compat/priority"
require_relative "compat/resume"
require_relative "compat/root"
require_relative "compat/select"
require_relative "compat/shared_thread"
require_relative "compat/whole_fifo"

module Plait
  module Mechanisms
    # What a Ruby can't hook into a fiber scheduler, or gets wrong, mended in these files and nowhere else. Each mend acts only
    # in a non-blocking fiber of a {Plait::Scheduler}; everywhere else the method is Ruby's own. Its `install` knows the Rubies
    # that need it.
    module Compat
      MENDS = [
        WholeFifo, Fifo, Select, KernelSelect, Lock, Close, IOTimeout, # of IO
        Join, ConditionWait, MutexSleep, Priority, # of waits
        External, Resume, Fork, SharedThread # of fibers
      ].freeze
      LOCK = Thread::Mutex.new
      private_constant :LOCK

      class << self
        # @return [Scheduler, nil] the current fiber's, if it is ours
        def scheduler
          scheduler = Fiber.current_scheduler
          scheduler if scheduler.is_a?(Scheduler)
        end

        # With the first scheduler, not before: a program that has none keeps its Ruby as it was.
        # A thread that is killed meanwhile leaves the rest to the next one, so every mend can be installed twice.
        def install
          SharedThread.install_late
          return if @installed

          alone { MENDS.each(&:install) unless @installed }
          @installed = true
        end

        # @return [Boolean] whether {MutexSleep} is there
        def mutex_sleep? = MutexSleep.installed?

        # @return [Fiber] the one that waits, when a fiber has resumed others
        def innermost(fiber) = Resume.innermost(fiber)

        # @return [Boolean] whether the current fiber is the one that its thread began with
        def root? = Root.current?

        private

        # Not by `synchronize`: a signal handler may call it, and may have interrupted the thread that is in here.
        def alone
          Thread.pass until LOCK.try_lock || (nested = LOCK.owned?)
          yield
        ensure
          LOCK.unlock if LOCK.owned? && !nested
        end
      end
    end
  end
end
