# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # Before Ruby 3.3 a fiber that has resumed another one can't be raised into: who waits inside of whom, then.
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
    end
  end
end
