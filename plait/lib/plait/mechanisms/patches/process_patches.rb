# frozen_string_literal: true

module Plait
  module Patches
    # Of Process: fork, which copies the fibers.
    module ProcessPatches
      def self.install = Fork.install

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
