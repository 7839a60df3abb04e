# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # An IO may be closed by another thread than that of the fibers that wait for it.
      module Loops
        KNOWING = Mutex.new
        private_constant :KNOWING

        @loops = []

        class << self
          def install = Fiber.singleton_class.prepend(self)

          def know(scheduler)
            KNOWING.synchronize { @loops = [*@loops.select { |other| turning?(other) }, scheduler] }
          end

          # @return [Scheduler, nil] the thread's, also when the current fiber blocks; nil when none of its fibers waits
          def turn_away(io)
            return unless main_ractor? # no loop of ours turns elsewhere

            own = Fiber.scheduler
            @loops.each { |other| other.turn_away(io) if turning?(other) && !other.equal?(own) }
            own if own.is_a?(Scheduler) && own.turn_away(io)
          end

          private

          def main_ractor? = !defined?(::Ractor) || ::Ractor.current == ::Ractor.main

          # On Ruby 3.1 a thread that ends by an exception does not close its scheduler.
          def turning?(scheduler) = !scheduler.closed? && scheduler.thread.alive?
        end

        def set_scheduler(scheduler) # rubocop:disable Naming/AccessorMethodName -- Ruby's name
          super.tap { Loops.know(scheduler) if scheduler.is_a?(Scheduler) }
        end
      end
    end
  end
end
