# frozen_string_literal: true

require_relative "placeholders"

module Plait
  module DB
    # What is true of MySQL and MariaDB by any driver.
    module Mysql
      # The whole transaction is gone after a deadlock (ER_LOCK_DEADLOCK).
      DEADLOCK = 1213
      # Seconds for a server to end a connection that nobody wants any longer. On a thread nothing reaches mysql2 while it
      # connects, so the driver has to keep the time itself.
      HASTE = { connect_timeout: 1, read_timeout: 1 }.freeze
      KILL_TIMEOUT = 2
      private_constant :DEADLOCK, :HASTE, :KILL_TIMEOUT

      private

      def fill(driver, sql, values) = Placeholders.fill(sql, values) { |text| "'#{driver.escape(text)}'" }

      def deadlock?(code) = code == DEADLOCK

      # The server does not look whether anybody waits for an answer: it would go on, and keep its locks, until it has one.
      # It can be told on another connection only.
      # @param id [Integer] of the connection
      def kill(id)
        Plait.timeout(KILL_TIMEOUT) do
          other = connect(**HASTE)
          control(other, "KILL #{Integer(id)}")
        ensure
          other&.close
        end
      end
    end
  end
end
