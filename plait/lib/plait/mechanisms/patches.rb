# frozen_string_literal: true

require_relative "base"
require_relative "patches/gate"
require_relative "patches/file_patches"
require_relative "patches/io_patches"
require_relative "patches/mutex_patches"
require_relative "patches/process_patches"
require_relative "patches/thread_patches"
require_relative "patches/select_patches" if RUBY_VERSION < "3.2"
require_relative "patches/enumerator_patches" if RUBY_VERSION < "3.3"
require_relative "patches/fiber_patches" if RUBY_VERSION < "3.3"
require_relative "patches/older_thread_patches" if RUBY_VERSION < "3.3"
require_relative "patches/socket_patches" if RUBY_VERSION >= "3.4"

module Plait
  # Patches of what a Ruby can't hook into a fiber scheduler, or gets wrong: a file a class, and nowhere else. Each acts only
  # in a non-blocking fiber of a {Plait::Scheduler}; everywhere else the method is Ruby's own. What a Ruby does not need is
  # not loaded there. `guides/mechanisms.md` says what each is for.
  module Patches
    ALL = constants.grep(/Patches\z/).sort.map { |name| const_get(name) }.freeze
    LOCK = Thread::Mutex.new

    @declined = ENV["PLAIT_PATCH"] == "0"

    class << self
      # @return [Scheduler, nil] the current fiber's, if it is ours
      def scheduler
        scheduler = Fiber.current_scheduler
        scheduler if scheduler.is_a?(Scheduler)
      end

      # With the first scheduler, not before: a program that has none keeps its Ruby as it was. A program that declines the
      # patches keeps it, too.
      # A thread that is killed meanwhile leaves the rest to the next one, so every patch can be installed twice.
      def install
        return if @declined

        ThreadPatches::SharedThread.install_late
        return if @installed

        alone { ALL.each(&:install) if begin? }
        @installed = !@declined
      end

      # No loop of Plait installs patches in this process from now on.
      # @raise [UsageError] where one has
      def decline = alone { @started ? raise(UsageError, TOO_LATE) : @declined = true }

      # @return [Boolean] whether Mutex#sleep is patched
      def mutex_sleep? = MutexPatches::MutexSleep.installed?

      # @return [Fiber] the one that waits, when a fiber has resumed others
      def innermost(fiber) = defined?(FiberPatches) ? FiberPatches::Resume.innermost(fiber) : fiber

      # @return [Boolean] whether the current fiber is the one that its thread began with
      def root? = Root.current?

      # Takes the parent's loop away from the child of a fork.
      def leave_loop = (scheduler = Fiber.scheduler) && ProcessPatches::Fork.detach(scheduler)

      private

      def begin? = !@installed && !@declined && (@started = true)

      # Not by `synchronize`: a signal handler may call it, and may have interrupted the thread that is in here.
      def alone
        Thread.pass until LOCK.try_lock || (nested = LOCK.owned?)
        yield
      ensure
        LOCK.unlock if LOCK.owned? && !nested
      end
    end

    TOO_LATE = "patch: false comes too late: an earlier loop of Plait (a Plait::Scheduler, a map on: :fibers) has patched " \
               "this process; make this scheduler first, or set PLAIT_PATCH=0 in the environment"

    # Which fiber is the one that its thread began with.
    module Root
      # `Fiber#inspect` of Ruby 3.1 to 4.0. Where another one says it differently, none passes for its thread's first: a
      # run then brings a loop along in a thread of its own.
      WITHOUT_LINE = /\A#<Fiber:0x\h+ \(\w+\)>\z/
      RESUMING = "resuming fiber"
      private_constant :WITHOUT_LINE, :RESUMING

      class << self
        # @return [Boolean] whether the current fiber is the one that its thread began with
        def current?
          fiber = Fiber.current
          thread = Thread.current
          return true if fiber.equal?(thread.instance_variable_get(:@plait_root))

          began_with?(fiber) && thread.instance_variable_set(:@plait_root, fiber) && true
        end

        private

        # Ruby can't be asked. It says a fiber's source line, but has none for fibers made from its own functions (such as
        # of Enumerators), and it says of these alone that they were resumed.
        def began_with?(fiber)
          return false unless fiber.blocking? && WITHOUT_LINE.match?(fiber.inspect)

          Fiber.new(blocking: true) { fiber.resume }.resume
          false
        rescue FiberError => e
          e.message.include?(RESUMING)
        end
      end
    end
    private_constant :LOCK, :TOO_LATE, :Root
  end
  private_constant :Patches
end
