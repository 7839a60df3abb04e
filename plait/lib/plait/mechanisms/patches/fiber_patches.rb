# frozen_string_literal: true

module Plait
  module Patches
    # Of Fiber, on the Rubies before 3.3.
    module FiberPatches
      def self.install = Resume.install

      # A fiber that has resumed another one can't be raised into: this notes which fiber waits inside of which.
      module Resume
        def self.install = Fiber.prepend(self)

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

        Gate.before(self, :resume)
      end
    end
  end
end
