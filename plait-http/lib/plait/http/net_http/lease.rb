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
      private_constant :Notice

      # One Net::HTTP's right to one connection. The {Pool} alone changes its state, under its lock:
      #
      #   :new -> :waiting -> :held <-> :resting -> :over
      #
      # Held without a {#connection}, it is the right to open one. Resting, its session has had its answer and not sent
      # the next request: the connection may be taken away for somebody who waits, or when it has been idle too long;
      # Net::HTTP connects again.
      class Lease
        # What the garbage collector calls when a session was forgotten without `finish`. It may run anywhere, also while
        # the pool's lock is held, and so does nothing but note it.
        class Lost
          def initialize(lost, key)
            @lost = lost
            @key = key
          end

          def call(_id) = @lost << @key
        end

        # @return [Array] see {Key.of}
        attr_reader :key
        # @return [Numeric] seconds a connection may have been idle to be taken; below 0 only a new one will do
        attr_reader :patience
        # @return [Connection, nil]
        attr_accessor :connection
        # @return [Symbol]
        attr_accessor :state
        # @return [Integer] its place in the line
        attr_accessor :ticket

        def initialize(key, patience)
          @key = key
          @patience = patience
          @state = :new
          @pid = Process.pid
        end

        # @return [Boolean] whether a fork got it from its parent
        def foreign? = @pid != Process.pid

        # @return [Boolean] whether it stands for a connection, or for the right to open one
        def valid? = (@state == :held || @state == :resting) && !foreign?

        def held? = @state == :held

        # Puts it into the line.
        def queue(ticket)
          @ticket = ticket
          @granted = Notice.create
          @state = :waiting
        end

        # Ends its wait.
        def grant(connection, lost)
          @connection = connection
          @state = :held
          ObjectSpace.define_finalizer(self, Lost.new(lost, key))
          @granted.give
        end

        # Waits in the line.
        # @param seconds [Numeric, nil]
        # @return [Boolean, nil] nil when the time is over
        def wait(seconds) = @granted.await(seconds)

        # @return [Connection, nil] which it no longer stands for
        def give_up
          ObjectSpace.undefine_finalizer(self)
          @state = :over
          @connection.tap { @connection = nil }
        end
      end
    end
  end
end
