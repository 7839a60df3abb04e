# frozen_string_literal: true

module Plait
  module Patches
    # Of IO and Kernel: select, close, timeout.
    module IOPatches
      def self.install = [Select, KernelSelect, Close, IOTimeout].each(&:install)

      # Ruby 3.1 has no io_select hook (3.2 has): IO.select stops the thread.
      module Select
        def self.install
          IO.singleton_class.prepend(self) unless Fiber.method_defined?(:storage)
        end

        def select(readables, writables = nil, exceptables = nil, timeout = nil)
          scheduler = Patches.scheduler
          return super unless scheduler && timeout != 0

          scheduler.io_select(readables, writables, exceptables, timeout)
        end
      end

      # Kernel#select and Kernel.select are IO.select under other names.
      module KernelSelect
        # As functions of the module, and as private methods of every object.
        def self.install
          ::Kernel.singleton_class.prepend(self)
          ::Kernel.prepend(dup.tap { |hidden| hidden.send(:private, :select) })
        end

        def select(...) = IO.select(...)
      end

      # Ruby tells the threads that wait for an IO that it is closed, and schedulers only from Ruby 4.0 on, see
      # {Scheduler::ThreadHooks#respond_to_missing?}. The fibers leave before that: one that stayed would read from the next IO
      # that gets the descriptor's number.
      module Close
        def self.install
          IO.prepend(self, CloseHalf)
          Loops.install
        end

        def close
          return super unless (scheduler = Loops.turn_away(self))

          begin
            scheduler.yield unless Fiber.current.blocking?
            nil
          ensure
            super
            scheduler.turn_away(self) # a fiber that has rescued it waits again
          end
        end
      end

      # These close an IO that has no other half. (A socket has methods of its own for its halves.)
      module CloseHalf
        def close_read
          super
          Loops.turn_away(self) if closed?
          nil
        end

        def close_write
          super
          Loops.turn_away(self) if closed?
          nil
        end
      end

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

      # IO#timeout came with Ruby 3.2, and Async calls it on every Ruby: pg, trilogy and mysql2 fail under it without.
      module IOTimeout
        def self.install
          return if IO.method_defined?(:timeout)

          IO.include(self)
          IO.const_set(:TimeoutError, Class.new(IOError))
        end

        # @return [Numeric, nil] seconds
        def timeout = @timeout

        # @param seconds [Numeric, nil]
        def timeout=(seconds)
          @timeout = seconds
        end
      end

      private_constant :KernelSelect, :CloseHalf, :IOTimeout, :Close, :Select
    end
  end
end
