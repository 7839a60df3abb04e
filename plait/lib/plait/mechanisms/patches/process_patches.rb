# frozen_string_literal: true

module Plait
  module Patches
    # Of Process: fork, which copies the fibers.
    module ProcessPatches
      def self.install = Fork.install

      # Ruby hands the child of a fork its parent's scheduler and, with it, all of its parent's fibers.
      module Fork
        ORIGINAL = :fork_before_plait
        private_constant :ORIGINAL

        # In place of Ruby's own, beneath all that is prepended: another library's hook, which may wait in the child, must find
        # no fibers there.
        def self.install
          process = Process.singleton_class
          keep_original(process) unless process.private_method_defined?(ORIGINAL)
          process.define_method(:_fork, instance_method(:_fork))
        end

        def self.keep_original(process)
          process.define_method(ORIGINAL, innermost(Process.method(:_fork)).unbind)
          process.send(:private, ORIGINAL)
        end

        def self.innermost(method) = method.super_method ? innermost(method.super_method) : method
        private_class_method :keep_original, :innermost

        # In the child. Ruby 4.0.5 has already taken the scheduler from the thread, not the fibers.
        def self.detach(scheduler)
          return unless scheduler.is_a?(Scheduler)

          scheduler.abandon
          Fiber.set_scheduler(nil)
        end

        def _fork
          scheduler = Fiber.scheduler
          fork_before_plait.tap { |pid| Fork.detach(scheduler) if pid.zero? }
        end
      end
    end
  end
end
