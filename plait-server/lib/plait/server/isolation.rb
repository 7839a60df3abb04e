# frozen_string_literal: true

require "plait/values/errors"

module Plait
  class Server
    # Has Rails keep what belongs to one request by fiber, where requests are fibers. By itself it does so by thread: fibers of
    # one thread would have one user, one time zone, one connection to the database, and nobody would see why.
    module Isolation
      SETTLED = "Rails keeps the state of a request (Current, connections to databases) by fiber, and not by thread, since it " \
                "runs on %s; config.active_support.isolation_level = :fiber in config/application.rb says the same"
      TOO_OLD = "this Rails keeps the state of a request by thread, and with on: :%s requests of one thread would get each " \
                "other's: take Rails 7.0 or newer, or run it on: :threads"

      # To be called when the app is loaded, and before it is called.
      # @param mechanism [Symbol] that runs the requests
      # @yieldparam line [String] what to tell, if anything was changed
      # @return [void]
      # @raise [UsageError] where it can't be changed
      def self.settle(mechanism)
        return if mechanism == :threads || !rails?
        raise UsageError, format(TOO_OLD, mechanism) unless defined?(::ActiveSupport::IsolatedExecutionState)
        return if ::ActiveSupport::IsolatedExecutionState.isolation_level == :fiber

        keep_by_fiber
        yield format(SETTLED, mechanism)
      end

      # @api private
      def self.rails? = defined?(::Rails) && ::Rails.respond_to?(:application) && !::Rails.application.nil?

      # What this thread has taken while the app was loaded would be nobody's.
      # @api private
      def self.keep_by_fiber
        ::ActiveRecord::Base.connection_handler.clear_active_connections! if defined?(::ActiveRecord::Base)
        ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
      end
    end
  end
end
