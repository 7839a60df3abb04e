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
        External, Resume, Fork # of fibers
      ].freeze

      class << self
        # @return [Scheduler, nil] the current fiber's, if it is ours
        def scheduler
          scheduler = Fiber.current_scheduler
          scheduler if scheduler.is_a?(Scheduler)
        end

        # With the first scheduler, not before: a program that has none keeps its Ruby as it was.
        def install
          return if @installed

          @installed = true
          MENDS.each(&:install)
        end

        # @return [Boolean] whether {MutexSleep} is there
        def mutex_sleep? = MutexSleep.installed?

        # @return [Fiber] the one that waits, when a fiber has resumed others
        def innermost(fiber) = Resume.innermost(fiber)

        # @return [Boolean] whether the current fiber is the one that its thread began with
        def root? = Root.current?
      end
    end
  end
end
