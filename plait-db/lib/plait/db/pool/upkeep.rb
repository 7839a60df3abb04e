# frozen_string_literal: true

require_relative "state"

module Plait
  class Pool
    # `Timeout.timeout` without a class raises a StandardError where the one of Ruby 3.1 limits a fiber, and so does Async.
    OUTSIDE = %w[Timeout::Error Async::TimeoutError].freeze

    # The options of a pool, checked.
    Options = Struct.new(:size, :timeout, :max_lifetime, :idle_timeout, :check, :check_after, :fit, :close, :abandon, :linger,
                         :errors, :name, keyword_init: true) do
      def check!
        whole = size.is_a?(Integer) && size >= 1
        raise UsageError, "size: must be a whole number of at least 1, not #{size.inspect}" unless whole

        %i[timeout max_lifetime idle_timeout].each { |option| check_seconds(option, self[option], optional: true) }
        check_seconds(:check_after, check_after, optional: false)
        %i[check fit close abandon linger].each { |option| check_callable(option, self[option]) }
        check_errors
        self.check_after = [check_after, idle_timeout].compact.min # a connection unused for idle_timeout is checked for it
        freeze
      end

      # @param error [StandardError] in the middle of a call of a connection
      # @return [Boolean] whether the connection has failed; else a time limit of the caller has raised it
      def about_connection?(error)
        errors.any? { |kind| kind === error } && !OUTSIDE.include?(error.class.name) # rubocop:disable Style/CaseEquality
      end

      # @return [UsageError]
      def closed = UsageError.new("#{name} is closed")

      # @return [PoolTimeout]
      def too_late(waiting)
        PoolTimeout.new("no connection of #{name} came free in time: all #{size} (size:) are in use, and #{waiting} others " \
                        "wait. A task that holds one (in `with`, `stream` or a transaction) and waits for a second one blocks " \
                        "the others", endpoint: name)
      end

      private

      def check_seconds(option, value, optional:)
        return if (optional && value.nil?) || (value.is_a?(Numeric) && value.real? && value >= 0)

        raise UsageError, "#{option}: takes seconds#{" or nil" if optional}, not #{value.inspect}"
      end

      def check_errors
        return if errors.is_a?(Array) && errors.all?(Module)

        raise UsageError, "errors: takes classes, such as [IOError, SystemCallError], not #{errors.inspect}"
      end

      def check_callable(option, value)
        return if value.nil? || value.respond_to?(:call)

        raise UsageError, "#{option}: takes something to call, such as ->(connection) { … }, not #{value.inspect}"
      end
    end

    # Makes, checks and closes connections, as the options say.
    class Upkeep
      def initialize(options, connect)
        @options = options
        @connect = connect
        @inherited = []
      end

      # Without a mask of its own while a connection is made: that mask would replace the caller's.
      # @yieldparam entry [Entry] has a user after the block; if the block raises, its connection is closed
      def connect(generation)
        taken = nil
        connection = @connect.call
        Uninterruptible.run do
          now = Deadline.now
          entry = Entry.new(connection, now, now + lifetime, generation)
          yield entry
          taken = entry
        end
      ensure
        end_connection(connection) if connection && !taken
      end

      # @return [Symbol, nil] why it can't be used again: it is to be retired, or stale
      def fault(entry, now)
        return :retired if expired?(entry, now)

        :stale unless answers?(entry)
      end

      # A timeout or a cancellation may come in the middle of a call: `fit:` is not asked then.
      # @param error [StandardError] of a block
      def fit?(entry, error)
        return false if @options.fit.nil? || error.is_a?(TimeoutError) || error.is_a?(CancelledError)

        @options.fit.call(entry.connection, error)
      rescue StandardError
        false
      end

      # @return [Float] monotonic seconds of the next search for expired connections
      def next_sweep(now)
        limits = [@options.idle_timeout, @options.max_lifetime].compact
        limits.empty? ? Float::INFINITY : now + (limits.min / 4.0).clamp(0, 1)
      end

      # @param entry [Entry] an idle one
      def expired?(entry, now) = entry.old?(now) || unused?(entry, now)

      # Ignores a driver's error at the end of a connection.
      # @raise [StandardError] another error, when all are closed
      def close(entries)
        failure = nil
        entries.each { |entry| failure = end_connection(entry.connection) || failure }
        raise failure if failure
      end

      # They are the parent's. They stay referenced: many drivers say goodbye to the server in a finalizer.
      def abandon(parents)
        @inherited.concat(parents)
        parents.each { |entry| @options.abandon&.call(entry.connection) }
      end

      private

      # @return [StandardError, nil] one of the caller
      def end_connection(connection)
        @options.close ? @options.close.call(connection) : connection.close
        nil
      rescue StandardError => e
        e unless @options.about_connection?(e)
      end

      def answers?(entry)
        @options.check.nil? || @options.check.call(entry.connection)
      rescue StandardError => e
        raise unless @options.about_connection?(e)

        false
      end

      def unused?(entry, now) = @options.idle_timeout && now >= entry.good_until - @options.check_after + @options.idle_timeout

      def lifetime = @options.max_lifetime ? @options.max_lifetime * rand(0.9..1.0) : Float::INFINITY
    end
    private_constant :OUTSIDE, :Options, :Upkeep
  end
end
