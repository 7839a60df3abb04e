# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require_relative "entry"
require_relative "statistics"

module Plait
  class Pool
    # Makes connections, looks after them and closes them, as the options say; knows nothing of who has them.
    class Upkeep
      NEVER = { Object => :never }.freeze
      private_constant :NEVER

      # @return [Statistics]
      attr_reader :statistics

      # @param options [Options]
      # @param connect [#call]
      def initialize(options, connect)
        @options = options
        @connect = connect
        @lock = Mutex.new
        @entries = {}.compare_by_identity
        @inherited = []
      end

      # In this process nothing has happened yet.
      def begin = @statistics = Statistics.new

      # An interrupt that the caller has masked does not come while a connection is made: a mask of ours would go before his.
      # @param pid [Integer]
      # @yieldparam entry [Entry] which is somebody's behind the block; if none is, or it raises, its connection is closed
      # @return [Entry]
      def connect(pid)
        entry = taken = nil
        connection = @connect.call
        Thread.handle_interrupt(NEVER) do
          entry = entry_of(connection, pid)
          yield entry
          taken = entry
        ensure
          close([entry]) if entry && !taken
        end
      ensure
        end_connection(connection) if connection && !entry
      end

      # @return [Boolean] whether it can be used again; false is counted
      def works?(entry, now)
        reason = expired?(entry, now) ? :retired : (:stale unless answers?(entry))
        @statistics.count(reason) if reason
        reason.nil?
      end

      # A timeout or a cancellation comes from outside, in the middle of anything: nobody is asked then.
      # @param error [StandardError] what a block was left by
      def fit?(entry, error)
        return false if @options.fit.nil? || error.is_a?(TimeoutError) || error.is_a?(CancelledError)

        @options.fit.call(entry.connection, error)
      rescue StandardError
        false
      end

      # @return [Float] monotonic seconds after which idle connections are to be gone through again
      def next_sweep(now)
        limits = [@options.idle_timeout, @options.max_lifetime].compact
        limits.empty? ? Float::INFINITY : now + (limits.min / 4.0).clamp(0, 1)
      end

      # @param entry [Entry] an idle one
      def expired?(entry, now) = entry.old?(now) || unused?(entry, now)

      # Closes what has expired.
      def retire(entries)
        entries.each { @statistics.count(:retired) }
        close(entries)
      end

      # What a connection says of its end is of no interest to who did not want it any longer.
      # @raise [StandardError] what is the caller's, when all are closed
      def close(entries)
        @lock.synchronize { entries.each { |entry| @entries.delete(entry) } }
        failure = nil
        entries.each { |entry| failure = end_connection(entry.connection) || failure }
        raise failure if failure
      end

      # All there are, also those that are lent, are the parent's. They are kept: many a driver says goodbye to the server when
      # a connection is collected.
      def abandon_all
        parents = @entries.keys
        @entries = {}.compare_by_identity
        @inherited.concat(parents)
        parents.each { |entry| @options.abandon&.call(entry.connection) }
      end

      private

      def entry_of(connection, pid)
        now = Deadline.now
        @statistics.count(:connected)
        Entry.new(connection, now, now + lifetime, pid).tap { |entry| @lock.synchronize { @entries[entry] = true } }
      end

      # @return [StandardError, nil] which came meanwhile, and is the caller's
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

      def unused?(entry, now)
        @options.idle_timeout && now >= entry.good_until - @options.check_after + @options.idle_timeout
      end

      def lifetime = @options.max_lifetime ? @options.max_lifetime * rand(0.9..1.0) : Float::INFINITY
    end
  end
end
