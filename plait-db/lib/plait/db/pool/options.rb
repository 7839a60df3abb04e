# frozen_string_literal: true

require "plait/values/errors"

module Plait
  class Pool
    # `Timeout.timeout` without a class raises a StandardError where the one of Ruby 3.1 limits a fiber, and so does Async.
    OUTSIDE = %w[Timeout::Error Async::TimeoutError].freeze
    private_constant :OUTSIDE

    # What a pool is told about its connections, checked.
    Options = Struct.new(:size, :timeout, :max_lifetime, :idle_timeout, :check, :check_after, :fit, :close, :abandon, :linger,
                         :errors, :name, keyword_init: true) do
      # @raise [UsageError]
      def check!
        whole = size.is_a?(Integer) && size >= 1
        raise UsageError, "size: must be a whole number of at least 1, not #{size.inspect}" unless whole

        %i[timeout max_lifetime idle_timeout].each { |option| check_seconds(option, self[option], optional: true) }
        check_seconds(:check_after, check_after, optional: false)
        %i[check fit close abandon linger].each { |option| check_callable(option, self[option]) }
        check_errors
        self.check_after = [check_after, idle_timeout].compact.min # it is looked at when it has not been used for so long
        freeze
      end

      # @param error [StandardError] out of the middle of a call of a connection
      # @return [Boolean] whether it is about the connection; else it is the caller's
      def about_connection?(error)
        errors.any? { |kind| kind === error } && !OUTSIDE.include?(error.class.name) # rubocop:disable Style/CaseEquality
      end

      # @return [UsageError]
      def closed = UsageError.new("#{name} is closed")

      # @param waiting [Integer]
      # @return [PoolTimeout]
      def too_late(waiting)
        PoolTimeout.new("no connection of #{name} came free in time: all #{size} (size:) are in use, and #{waiting} others " \
                        "wait. Who holds one (in `with`, `stream` or a transaction) and waits for a second keeps the others " \
                        "waiting", endpoint: name)
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
  end
end
