# frozen_string_literal: true

require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "entry"
require_relative "statistics"

module Plait
  class Pool
    # Makes connections, looks after them and closes them, as the options say; knows nothing of who has them.
    class Upkeep
      # @return [Statistics]
      attr_reader :statistics

      # @param options [Options]
      # @param connect [#call]
      def initialize(options, connect)
        @options = options
        @connect = connect
        @inherited = []
      end

      # In this process nothing has happened yet.
      def begin = @statistics = Statistics.new

      # @param pid [Integer]
      # @return [Entry]
      def connect(pid)
        connection = @connect.call
        now = Deadline.now
        @statistics.count(:connected)
        Entry.new(connection, now, now + lifetime, pid)
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
      def close(entries)
        entries.each do |entry|
          @options.close ? @options.close.call(entry.connection) : entry.connection.close
        rescue StandardError
          nil
        end
      end

      # It is the parent's. It is kept: many a driver says goodbye to the server when a connection is collected.
      def abandon(entry)
        @inherited << entry
        @options.abandon&.call(entry.connection)
      end

      private

      def answers?(entry)
        @options.check.nil? || @options.check.call(entry.connection)
      rescue StandardError
        false
      end

      def unused?(entry, now)
        @options.idle_timeout && now >= entry.good_until - @options.check_after + @options.idle_timeout
      end

      def lifetime = @options.max_lifetime ? @options.max_lifetime * rand(0.9..1.0) : Float::INFINITY
    end
  end
end
