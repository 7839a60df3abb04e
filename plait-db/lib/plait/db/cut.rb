# frozen_string_literal: true

require_relative "detached_call"

module Plait
  module DB
    # Connections of other libraries' pools after an exit in the middle of a call.
    module Cut
      # CONNECTION_OK and PQTRANS_ACTIVE (a statement is under way) of libpq.
      OK = 0
      ACTIVE = 1
      # Seconds for a server to break off a statement.
      CANCEL_TIMEOUT = 2

      module_function

      # @param cut [#call] (exception or nil) called after an exit in the middle of the block: a timeout, a cancellation, a kill
      #   or a throw. The last two are no exceptions, and look like `break` and `return`
      # @return [Object] the block's value
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
      # @return [Boolean] whether its next answer would belong to another statement, or never come
      def off?(connection)
        return hung_up?(connection) unless connection.respond_to?(:transaction_status)

        connection.finished? || connection.status != OK || busy?(connection)
      end

      # After a kill, a throw, or `break` and `return`, which the libraries use themselves: these exits look alike. mysql2 neither
      # closes a connection that a kill has cut, nor shows the cut.
      # @param connection [Object] of a driver
      # @return [Boolean] see {off?}
      def abandoned?(connection) = Thread.current.status == "aborting" || off?(connection)

      # PostgreSQL would run the statement, and keep its locks. (mysql2 and trilogy close the connection themselves.) The caller's
      # time is over: another thread cancels the statement, and the connection may be closed meanwhile.
      def break_off(connection)
        return unless connection.respond_to?(:transaction_status) && busy?(connection)

        return cancel(connection) unless defined?(::PG::CancelConnection) # before libpq 17 the cancel needs the open connection

        request = ::PG::CancelConnection.new(connection)
        DetachedCall.new { Plait.timeout(CANCEL_TIMEOUT) { request.async_cancel } }.start
      rescue ::PG::Error
        nil
      end

      def cancel(connection)
        Plait.timeout(CANCEL_TIMEOUT) { connection.cancel }
      rescue Error, SystemCallError, IOError # any other error is the caller's
        nil
      end

      # trilogy's `closed?` is true only after `close`.
      def hung_up?(connection)
        return false unless connection.respond_to?(:closed?)

        connection.closed? || (connection.respond_to?(:check) && !connection.check)
      rescue StandardError
        true
      end

      def busy?(connection) = !connection.finished? && connection.transaction_status == ACTIVE
    end
    private_constant :Cut
  end
end
