# frozen_string_literal: true

require_relative "detached_call"
require "plait/values/errors"

module Plait
  module DB
    # Connections of other libraries' pools that were left in the middle of a call.
    module Cut
      # CONNECTION_OK and PQTRANS_ACTIVE of libpq; the latter: a statement is under way.
      OK = 0
      ACTIVE = 1
      # Seconds for a server to break off a statement.
      CANCEL_TIMEOUT = 2
      private_constant :OK, :ACTIVE, :CANCEL_TIMEOUT

      module_function

      # @param cut [#call] (exception or nil) when the block is left in the middle: by a timeout, a cancellation, a kill or a
      #   throw, of which the last two are no exceptions, and look like `break` and `return`
      # @return [Object] what the block returns
      def watch(cut)
        value = yield
        whole = true
        value
      rescue StandardError
        whole = true
        raise
      rescue Exception => e # rubocop:disable Lint/RescueException
        raise
      ensure
        cut.call(e) unless whole
      end

      # @param connection [Object] of a driver
      # @return [Boolean] whether its next answer would be another statement's, or none
      def off?(connection)
        return hung_up?(connection) unless connection.respond_to?(:transaction_status)

        connection.finished? || connection.status != OK || busy?(connection)
      end

      # @param connection [Object] that a block was left with by a kill, a throw, or `break` and `return`, by which the libraries
      #   themselves leave their blocks: these look alike. mysql2 does not close what a kill has cut, nor tell of it
      # @return [Boolean] see {off?}
      def abandoned?(connection) = Thread.current.status == "aborting" || off?(connection)

      # PostgreSQL would go on with the statement, and keep its locks. (mysql2 and trilogy have hung up by themselves.) The
      # caller's time is over: the server hears of it on another thread, and the connection may be closed meanwhile.
      def break_off(connection)
        return unless connection.respond_to?(:transaction_status) && busy?(connection)

        return cancel(connection) unless defined?(::PG::CancelConnection) # before libpq 17 it needs the connection to its end

        request = ::PG::CancelConnection.new(connection)
        DetachedCall.new { Plait.timeout(CANCEL_TIMEOUT) { request.async_cancel } }.start
      rescue ::PG::Error
        nil
      end

      def cancel(connection)
        Plait.timeout(CANCEL_TIMEOUT) { connection.cancel }
      rescue Error, SystemCallError, IOError # all else is the caller's
        nil
      end

      # trilogy says `closed?` only when it was closed by its user.
      def hung_up?(connection)
        return false unless connection.respond_to?(:closed?)

        connection.closed? || (connection.respond_to?(:check) && !connection.check)
      rescue StandardError
        true
      end

      def busy?(connection) = !connection.finished? && connection.transaction_status == ACTIVE
      private_class_method :busy?, :hung_up?, :cancel
    end
    private_constant :Cut
  end
end
