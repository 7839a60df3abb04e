# frozen_string_literal: true

require "timeout"
require "plait/values/deadline"

module Plait
  module HTTP
    module NetHTTP
      # Something that one thread or fiber waits for, with a time limit, and that is given at most once, from anywhere.
      #
      # Not Timeout.timeout on a thread: it has a Mutex that all threads share, and when a thread is killed while it waits
      # for a Mutex, the wake-up that was meant for it is lost, and others sleep on (Ruby 3.1 to 3.3 at least).
      module Notice
        # @return [Queued, Signalled]
        def self.create = scheduler? || TIMED ? Queued.new : Signalled.new

        def self.scheduler? = Fiber.respond_to?(:current_scheduler) && !Fiber.current_scheduler.nil?

        # Queue#pop(timeout:) came with Ruby 3.2.
        TIMED = RUBY_VERSION >= "3.2"

        # For a fiber, which waits in its scheduler, and wherever a queue knows time limits.
        class Queued
          class Late < StandardError; end

          def initialize = @queue = Thread::Queue.new

          def give = @queue << true

          # @param seconds [Numeric, nil]
          # @return [Boolean, nil] nil when the time is over
          def await(seconds)
            return @queue.pop(timeout: seconds) if TIMED

            Timeout.timeout(seconds, Late) { @queue.pop } # the scheduler's timeout_after
          rescue Late
            nil
          end
        end

        # For a thread of Ruby 3.1. Nobody but the waiter ever waits for this mutex.
        class Signalled
          def initialize
            @lock = Thread::Mutex.new
            @changed = Thread::ConditionVariable.new
            @given = false
          end

          # Where a fiber gives it, it must not wait in its scheduler.
          def give
            Thread.pass until @lock.try_lock
            @given = true
            @changed.signal
          ensure
            @lock.unlock if @lock.owned?
          end

          # @param (see Queued#await)
          # @return (see Queued#await)
          def await(seconds)
            give_up = seconds && (Deadline.now + seconds)
            @lock.synchronize do
              until @given
                left = give_up && (give_up - Deadline.now)
                break if left && left <= 0

                @changed.wait(@lock, left)
              end
            end
            @given || nil
          end
        end
      end
    end
  end
end
