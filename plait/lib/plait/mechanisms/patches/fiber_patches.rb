# frozen_string_literal: true

module Plait
  module Patches
    # Of Fiber, and of fork, which copies the fibers.
    module FiberPatches
      def self.install = [Resume, Fork].each(&:install)

      # Before Ruby 3.3 a fiber that has resumed another one can't be raised into: this notes which fiber waits inside of which.
      module Resume
        def self.install
          Fiber.prepend(self) unless Fiber.method_defined?(:kill)
        end

        # @return [Fiber] the one that waits, when a fiber has resumed others
        def self.innermost(fiber)
          while (inner = fiber.instance_variable_get(:@plait_inner))
            fiber = inner
          end
          fiber
        end

        def resume(...)
          return super unless Patches.scheduler

          outer = Fiber.current
          begin
            outer.instance_variable_set(:@plait_inner, self)
            super
          ensure
            outer.instance_variable_set(:@plait_inner, nil)
          end
        end
      end

      # Ruby hands the child of a fork its parent's scheduler and, with it, all of its parent's fibers.
      module Fork
        def self.install = Process.singleton_class.prepend(self)

        def self.detach
          scheduler = Fiber.scheduler
          return unless scheduler.is_a?(Scheduler)

          scheduler.abandon
          Fiber.set_scheduler(nil)
        end

        def _fork
          super.tap { |pid| Fork.detach if pid.zero? }
        end
      end
    end
  end
end
