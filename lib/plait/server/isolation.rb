# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  class Server
    # Whether a framework keeps what belongs to one request by fiber, where requests are fibers. Rails does so by thread, unless
    # its configuration says otherwise: fibers of one thread then have one user, one time zone, one connection to the database,
    # and nobody would see why.
    module Isolation
      WORDS = "Rails keeps the state of a request (Current, connections to databases) by thread, and with on: :%s requests " \
              "of one thread would get each other's. Say config.active_support.isolation_level = :fiber in " \
              "config/application.rb, or run it on: :threads"

      # To be called when the app is loaded.
      # @param mechanism [Symbol] that runs the requests
      # @return [void]
      # @raise [UsageError]
      def self.check(mechanism)
        raise UsageError, format(WORDS, mechanism) if mechanism != :threads && rails? && level == :thread
      end

      # @api private
      def self.rails? = defined?(::Rails) && ::Rails.respond_to?(:application) && !::Rails.application.nil?

      # Before Rails 7.0 it could be nothing else.
      # @api private
      def self.level
        defined?(::ActiveSupport::IsolatedExecutionState) ? ::ActiveSupport::IsolatedExecutionState.isolation_level : :thread
      end
    end
  end
end
