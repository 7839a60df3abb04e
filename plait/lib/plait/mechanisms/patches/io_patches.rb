# frozen_string_literal: true

module Plait
  module Patches
    # Of IO: close and reopen, which the fibers that wait for it must hear of.
    module IOPatches
      def self.install = [Close, Reopen].each(&:install)

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

        Gate.before(self, :close, only: :loops)
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

        Gate.before(self, :close_read, :close_write, only: :loops)
      end

      # An IO may be closed by another thread than that of the fibers that wait for it.
      module Loops
        KNOWING = Mutex.new
        private_constant :KNOWING

        @loops = []

        class << self
          def install = Fiber.singleton_class.prepend(self)

          def know(scheduler) = KNOWING.synchronize { keep([*turning, scheduler]) }

          # Called when a loop has ended, also in a signal handler, which must not wait. A loop that is counted longer only
          # costs time.
          def forget
            return unless (locked = KNOWING.try_lock)

            keep(turning)
          ensure
            KNOWING.unlock if locked
          end

          # @return [Scheduler, nil] the thread's, also when the current fiber blocks; nil when none of its fibers waits
          def turn_away(io)
            return unless MainRactor.here? # no loop of ours turns elsewhere

            own = Fiber.scheduler
            @loops.each { |other| other.turn_away(io) if turning?(other) && !other.equal?(own) }
            own if own.is_a?(Scheduler) && own.turn_away(io)
          end

          private

          def keep(loops)
            @loops = loops
            Gate.loops = loops.size
          end

          def turning = @loops.select { |loop| turning?(loop) }

          # On Ruby 3.1 a thread that ends by an exception does not close its scheduler.
          def turning?(scheduler) = !scheduler.closed? && scheduler.thread.alive?
        end

        def set_scheduler(scheduler) # rubocop:disable Naming/AccessorMethodName -- Ruby's name
          Loops.know(scheduler) if scheduler.is_a?(Scheduler) # first: a signal handler gets no further
          super
        end
      end

      # A selector of ours knows a file by its IO and its number, and IO#reopen changes the file under both. Threads that wait
      # for it get an IOError, and so do fibers.
      module Reopen
        def self.install
          IO.prepend(self)
          NativeSelector.watch_reopenings if defined?(NativeSelector)
        end

        def reopen(...)
          Loops.turn_away(self)
          super
        end

        Gate.before(self, :reopen, only: :loops)
      end

      private_constant :Close, :CloseHalf, :Reopen
    end
  end
end
