# frozen_string_literal: true

require_relative "../../values/errors"

module Plait
  class Pool
    # What a pool is told about its connections, checked.
    Options = Struct.new(:size, :timeout, :max_lifetime, :idle_timeout, :check, :check_after, :fit, :close, :abandon, :name,
                         keyword_init: true) do
      # @raise [UsageError]
      def check!
        whole = size.is_a?(Integer) && size >= 1
        raise UsageError, "size: must be a whole number of at least 1, not #{size.inspect}" unless whole

        %i[timeout max_lifetime idle_timeout].each { |option| check_seconds(option, self[option], optional: true) }
        check_seconds(:check_after, check_after, optional: false)
        %i[check fit close abandon].each { |option| check_callable(option, self[option]) }
        self.check_after = [check_after, idle_timeout].compact.min # it is looked at when it has not been used for so long
        freeze
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

      def check_callable(option, value)
        return if value.nil? || value.respond_to?(:call)

        raise UsageError, "#{option}: takes something to call, such as ->(connection) { … }, not #{value.inspect}"
      end
    end
  end
end
