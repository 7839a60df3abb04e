# frozen_string_literal: true

require "net/http"
require "timeout"
require "plait/native"
require "plait/values/deadline"
require "plait/values/errors"
require "plait/values/uninterruptible"
require_relative "pool_state"

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

          # @return [Boolean, nil] nil when the time is over
          def await(seconds)
            return @queue.pop(timeout: seconds) if TIMED

            Timeout.timeout(seconds, Late) { @queue.pop } # the scheduler's timeout_after
          rescue Late
            nil
          end
        end

        # For a thread of Ruby 3.1. Only the waiter ever waits for this mutex.
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

      # One Net::HTTP's right to one connection. The {Pool} alone changes its state, under its lock:
      #
      #   :new -> :waiting -> :held <-> :resting -> :over
      #
      # Held without a {#connection}, it is the right to open one. Resting, its session has had its answer and not sent
      # the next request: the connection may be taken away for a session that waits, or when it has been idle too long;
      # Net::HTTP connects again.
      class Checkout
        # The finalizer of a session that was forgotten without `finish`. It may run anywhere, also while
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
        attr_accessor :connection, :state
        # @return [Integer] its place in the queue
        attr_accessor :ticket

        def initialize(key, patience)
          @key = key
          @patience = patience
          @state = :new
          @generation = Native.fork_generation
        end

        # @return [Boolean] whether a fork got it from its parent
        def foreign? = @generation != Native.fork_generation

        # @return [Boolean] whether it stands for a connection, or for the right to open one
        def valid? = (@state == :held || @state == :resting) && !foreign?

        def held? = @state == :held

        # Puts it into the queue.
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

        # Waits in the queue.
        # @return [Boolean, nil] nil when the time is over
        def wait(seconds) = @granted.await(seconds)

        # @return [Connection, nil] which it no longer stands for
        def give_up
          ObjectSpace.undefine_finalizer(self)
          @state = :over
          @connection.tap { @connection = nil }
        end
      end

      # The settings of {NetHTTP.configure}. Immutable: a change makes new ones.
      class Settings
        # Half of the 1,024 descriptors that a process may usually have; a single origin gets half of these.
        DEFAULTS = { total: 512, per_key: 256, idle_timeout: 30, strict: true }.freeze

        # @return [Integer] connections open at once, in use and idle
        attr_reader :total
        # @return [Integer] of these, with the same {Key}
        attr_reader :per_key
        # @return [Numeric] seconds for which an unused connection is kept
        attr_reader :idle_timeout
        # @return [Boolean] whether an answer that ends before it is complete is an EOFError; to Net::HTTP it is a success
        attr_reader :strict

        # @raise [UsageError] for an unknown setting, or a value that makes no sense
        def initialize(**changes)
          unknown = changes.keys - DEFAULTS.keys
          raise UsageError, "no such setting: #{unknown.join(", ")}; there are #{DEFAULTS.keys.join(", ")}" if unknown.any?

          @total, @per_key, @idle_timeout, @strict = DEFAULTS.merge(changes).values_at(:total, :per_key, :idle_timeout, :strict)
          check
          freeze
        end

        def with(**changes) = Settings.new(**to_h, **changes)

        # @return [Hash{Symbol => Object}]
        def to_h = { total: total, per_key: per_key, idle_timeout: idle_timeout, strict: strict }

        private

        def check
          { total: total, per_key: per_key }.each do |name, value|
            next if value.is_a?(Integer) && value.positive?

            raise UsageError, "#{name} must be a positive Integer, not #{value.inspect}"
          end
          return if idle_timeout.is_a?(Numeric) && !idle_timeout.negative?

          raise UsageError, "idle_timeout must be a number of seconds, not #{idle_timeout.inspect}"
        end
      end

      # Numbers of the pool: the first six since its start, the others now.
      #
      # @!attribute opened [Integer] connections that were opened, or tried to be
      # @!attribute reused [Integer] times a connection was handed out again
      # @!attribute stale [Integer] connections the peer had closed, or sent something on, while they were idle
      # @!attribute evicted [Integer] connections closed because they were idle too long, or to make room for others
      # @!attribute discarded [Integer] connections closed by their user, or because their exchange was not completed
      # @!attribute waited [Integer] waits for a connection
      # @!attribute in_use [Integer] connections that belong to a Net::HTTP that is started
      # @!attribute idle [Integer] connections that belong to no session
      # @!attribute waiting [Integer] threads and fibers in the queue
      Statistics = Struct.new(:opened, :reused, :stale, :evicted, :discarded, :waited, :in_use, :idle, :waiting,
                              keyword_init: true)

      # The connections of all Net::HTTP objects of a process, for any number of threads and fibers.
      #
      # All state changes under one lock, which is held for microseconds, never while something waits, and during which no
      # exception comes in from outside. It is tried, and not waited for: a fiber that waits for a Mutex goes through its
      # scheduler, which Ruby before 3.3 does not survive when threads want the same one.
      class Pool
        COUNTED = %i[opened reused stale evicted discarded waited].freeze

        def initialize(settings = Settings.new)
          @lock = Thread::Mutex.new
          @generation = Native.fork_generation
          @state = PoolState.new(settings)
        end

        def settings = @state.settings

        def settings=(settings)
          exclusively { |state| state.settings = settings }
        end

        # Waits for a connection or the right to open one, which the checkout stands for afterwards. In any case the
        # checkout must then be given to {#release} or {#discard}.
        # @param checkout [Checkout] a new one
        # @param timeout [Numeric, nil] seconds to stand in the queue
        # @raise [Net::OpenTimeout]
        def checkout(checkout, timeout)
          exclusively { |state| state.enter(checkout) }
          wait(checkout, timeout) unless checkout.held?
          exclusively { |state| state.replace(checkout) } while checkout.connection&.stale?
        end

        # The session's exchange is over, and its connection fit for the next one.
        def rest(checkout) = exclusively { |state| state.rest(checkout) }

        # The session's next exchange begins.
        # @return [Boolean] whether it still has its connection
        def wake(checkout) = exclusively { |state| state.wake(checkout) }

        # Another session may use its connection now.
        def release(checkout) = exclusively { |state| state.release(checkout) }

        # Its connection is closed.
        def discard(checkout)
          checkout.foreign? ? checkout.give_up&.close : exclusively { |state| state.discard(checkout) }
        end

        # Closes unused connections. The others stay with their sessions, which close them when they are done.
        def clear = exclusively(&:clear)

        def statistics
          exclusively do |state|
            key_states = state.key_states
            Statistics.new(**COUNTED.to_h { |name| [name, state.counts[name]] },
                           in_use: key_states.sum(&:taken), idle: key_states.sum { |key_state| key_state.idle.size },
                           waiting: key_states.sum { |key_state| key_state.queue.size })
          end
        end

        private

        # Connections are closed when the lock is free again: with TLS that writes.
        def exclusively(&block)
          Uninterruptible.run do
            Thread.pass until @lock.try_lock
            begin
              with_state(&block)
            ensure
              doomed = @state.take_doomed
              @lock.unlock
              doomed&.each(&:close)
            end
          end
        end

        def with_state
          doomed = begin_anew if @generation != Native.fork_generation
          @state.settle_lost
          yield(@state)
        ensure
          doomed&.each(&:close)
        end

        # In a fork all connections are its parent's.
        # @return [Array<Connection>]
        def begin_anew
          @generation = Native.fork_generation
          inherited = @state.key_states.flat_map(&:idle)
          @state = PoolState.new(settings)
          inherited
        end

        # A checkout that leaves the queue by an exception is taken out of it by {#discard}.
        def wait(checkout, timeout)
          timeout = nil if timeout&.zero? # to Net::HTTP that is no limit
          checkout.wait(timeout) or raise Net::OpenTimeout, full(checkout, timeout)
        end

        def full(checkout, timeout)
          _, address, port = checkout.key
          "no connection to #{address}:#{port} came free within #{timeout} s: Plait::HTTP::NetHTTP.configure allows " \
            "#{settings.per_key} of a kind (per_key) and #{settings.total} in all (total)"
        end
      end
      private_constant :Notice, :Notice, :Checkout, :Settings, :Pool
    end
  end
end
