# frozen_string_literal: true

require "net/http"
require "plait/io/checked_options"
require "plait/io/pool"
require "plait/mechanisms/base"

module Plait
  module HTTP
    module NetHTTP
      # One session's connection, from one {Session#connect} to the next. Between two exchanges a session that waits may take it
      # away; Net::HTTP connects again.
      class Hold
        # @return [Array] see {Key.of}
        attr_reader :key

        def initialize(pool, key)
          @pool = pool
          @key = key
          @held = [] # apart, for the finalizer of a session that was forgotten without `finish`
        end

        def connection = @held.first

        # @see Pool#checkout
        def take(timeout, renew, &connect)
          MainRactor::Finalizer.define(self, @pool.forget(@held))
          @pool.checkout(key, timeout, renew, ->(connection) { @held << connection }, &connect)
        end

        # Between two exchanges others may have the connection.
        def rest = Uninterruptible.run { @pool.spare(@resting = @held.shift) }

        # Takes the connection back, if it rested.
        # @return [Boolean] whether there is one
        def wake
          return false if (@resting || connection)&.foreign? != false

          Uninterruptible.run do
            resting, @resting = @resting, nil
            @held << resting if resting && @pool.reclaim(resting)
          end
          !@held.empty?
        end

        # The connection is whole, and for the next session.
        def release = leave { |connection| @pool.checkin(connection) }

        # The connection is closed.
        def close = leave { |connection| @pool.discard(connection) }

        private

        def leave
          Uninterruptible.run do
            wake
            connection, @resting = @held.shift || @resting, nil
            yield(connection) if connection
          end
        end
      end

      # The settings of {NetHTTP.configure}. Immutable: a change makes new ones.
      #
      # @!attribute total [Integer] connections open at once, in use and idle
      # @!attribute per_key [Integer] of these, with the same {Key}
      # @!attribute idle_timeout [Numeric] seconds for which an unused connection is kept
      # @!attribute strict [Boolean] whether an answer that ends too early is an EOFError; to Net::HTTP it is a success
      Settings = Struct.new(:total, :per_key, :idle_timeout, :strict, keyword_init: true) do
        include Io::CheckedOptions

        # @raise [UsageError] for an unknown setting, or a value that makes no sense
        def with(**changes) = self.class.build({ **to_h, **changes })

        def complete
          check_counts(:total, :per_key)
          return self if idle_timeout.is_a?(Numeric) && !idle_timeout.negative?

          raise UsageError, "idle_timeout: is a number of seconds, not #{idle_timeout.inspect}"
        end
      end
      # Half of the 1,024 descriptors that a process may usually have; a single origin gets half of these.
      Settings::DEFAULTS = { total: 512, per_key: 256, idle_timeout: 30, strict: true }.freeze
      Settings::OWNER = "pooled Net::HTTP"

      # Numbers of the pool: the first six since its start, the others now.
      #
      # @!attribute opened [Integer] connections that were opened
      # @!attribute reused [Integer] times a connection was handed out again
      # @!attribute stale [Integer] idle connections that were too old, or on which the peer had closed or sent something
      # @!attribute evicted [Integer] connections closed because they were idle too long, or to make room for others
      # @!attribute discarded [Integer] connections closed by their user, or because their exchange was not completed
      # @!attribute waited [Integer] waits for a connection
      # @!attribute in_use [Integer] connections that belong to a Net::HTTP that is started
      # @!attribute idle [Integer] connections that belong to no session
      # @!attribute waiting [Integer] threads and fibers in the queue
      Statistics = Struct.new(:opened, :reused, :stale, :evicted, :discarded, :waited, :in_use, :idle, :waiting,
                              keyword_init: true)

      # The connections of all Net::HTTP objects of a process, for any number of threads and fibers.
      class Pool < Io::Pool
        # What {Io::Pool} counts.
        COUNTED = { opened: %i[connected], reused: %i[reused], stale: %i[stale], evicted: %i[expired evicted cleared],
                    discarded: %i[discarded], waited: %i[waited] }.freeze

        attr_reader :settings

        def initialize(settings = Settings.build({}))
          @settings = settings
          @forgotten = []
          super(**limits, check_after: 0)
        end

        def settings=(settings)
          @settings = settings
          limit(**limits)
        end

        # Waits for a connection, or for the right to open one.
        # @param timeout [Numeric, nil] seconds
        # @param renew [true, #call] see {Io::Pool#checkout}
        # @param take [#call] is given the connection, for {#checkin} or {#discard}
        # @yieldreturn [Connection] a new one
        def checkout(key, timeout, renew, take, &connect)
          discard_forgotten
          timeout = nil if timeout&.zero? # to Net::HTTP that is no limit
          super(key, deadline: Deadline.after(timeout), renew: renew, take: take, &connect)
        rescue PoolTimeout
          raise Net::OpenTimeout, full(key, timeout)
        end

        # @param held [Array<Connection>] of a session
        # @return [Proc] for its finalizer. That may run anywhere, also while the pool's lock is held, and so does nothing but
        #   note them
        def forget(held)
          forgotten = @forgotten
          -> { forgotten.concat(held) }
        end

        def statistics
          discard_forgotten
          now = super(COUNTED.values.flatten)
          Statistics.new(**COUNTED.transform_values { |names| now.values_at(*names).sum }, in_use: now[:busy],
                                                                                           **now.slice(:idle, :waiting))
        end

        private

        def limits
          { per_key: settings.per_key, max: settings.total, max_idle: settings.total, idle_timeout: settings.idle_timeout }
        end

        def discard_forgotten
          while (connection = @forgotten.shift)
            discard(connection)
          end
        end

        def full(key, timeout)
          _, address, port = key
          "no connection to #{address}:#{port} came free within #{timeout} s: Plait::HTTP::NetHTTP.configure allows " \
            "#{settings.per_key} of a kind (per_key) and #{settings.total} in all (total)"
        end
      end
      private_constant :Hold, :Settings, :Pool
    end
  end
end
