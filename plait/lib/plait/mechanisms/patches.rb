# frozen_string_literal: true

require_relative "patches/fiber_patches"
require_relative "patches/file_patches"
require_relative "patches/io_patches"
require_relative "patches/thread_patches"
require_relative "patches/enumerator_patches" if RUBY_VERSION < "3.3"

module Plait
  # Patches of what a Ruby can't hook into a fiber scheduler, or gets wrong: a file a class, and nowhere else. Each acts only
  # in a non-blocking fiber of a {Plait::Scheduler}; everywhere else the method is Ruby's own. Its `install` knows the Rubies
  # that need it; what no later Ruby needs is not loaded there.
  module Patches
    ALL = [IOPatches, FilePatches, ThreadPatches, FiberPatches, *(EnumeratorPatches if RUBY_VERSION < "3.3")].freeze
    LOCK = Thread::Mutex.new
    private_constant :LOCK

    class << self
      # @return [Scheduler, nil] the current fiber's, if it is ours
      def scheduler
        scheduler = Fiber.current_scheduler
        scheduler if scheduler.is_a?(Scheduler)
      end

      # With the first scheduler, not before: a program that has none keeps its Ruby as it was.
      # A thread that is killed meanwhile leaves the rest to the next one, so every patch can be installed twice.
      def install
        ThreadPatches::SharedThread.install_late
        return if @installed

        alone { ALL.each(&:install) unless @installed }
        @installed = true
      end

      # @return [Boolean] whether Mutex#sleep is patched
      def mutex_sleep? = ThreadPatches::MutexSleep.installed?

      # @return [Fiber] the one that waits, when a fiber has resumed others
      def innermost(fiber) = FiberPatches::Resume.innermost(fiber)

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
    private_constant :Root
  end
  private_constant :Patches
end
