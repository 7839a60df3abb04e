# frozen_string_literal: true

require_relative "placeholders"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module DB
    # What is true of MySQL and MariaDB by any driver.
    module Mysql
      # The whole transaction is gone after a deadlock (ER_LOCK_DEADLOCK); after a lock was awaited for too long
      # (ER_LOCK_WAIT_TIMEOUT) it is, or the statement alone, as innodb_rollback_on_timeout says.
      DEADLOCK = 1213
      LOCK_WAIT = 1205
      # What trilogy can't see afterwards, and mysql2 sees nothing of.
      LASTING = /\A\s*(?:BEGIN\b(?!\s+NOT)|START\s+TRANSACTION|XA\s+(?:START|BEGIN)|LOCK\s+TABLES?|
                 SET\s+(?:SESSION\s+|LOCAL\s+|@@(?:SESSION\.|LOCAL\.)?)?AUTOCOMMIT\b)/ix
      # What tells one server from another that answers at the same address.
      IDENTITY = "SELECT CONNECTION_ID(), @@hostname, @@port, @@server_id, @@version"
      # Seconds for each answer of a server that is to end a connection. The driver keeps the time: no interrupt reaches mysql2
      # while it connects.
      HASTE = { connect_timeout: 1, read_timeout: 1 }.freeze
      # What a connection is known by: its number, its server, and since when (monotonic seconds).
      Identity = Struct.new(:id, :server, :since)
      private_constant :DEADLOCK, :LOCK_WAIT, :LASTING, :IDENTITY, :HASTE, :Identity

      private

      def fill(driver, sql, values)
        Placeholders.fill(sql, values, backslash: !sql.include?("\\") || driver.escape("\\").size == 2, zone: zone) do |text|
          "'#{driver.escape(text)}'"
        end
      rescue EncodingError, ArgumentError, TypeError => e # nothing was sent
        raise UsageError, "a value can't be written in the character set of the connection: #{e.message}"
      end

      def lasting?(sql) = LASTING.match?(sql)

      def deadlock?(code) = code == DEADLOCK

      # Whether a transaction is still there after this error only a new connection can tell.
      def doubtful?(code) = code == LOCK_WAIT && inside?

      def identify(driver)
        id, *server = ask(driver, IDENTITY, []).rows.first
        Identity.new(Integer(id), server, Deadline.now)
      end

      # The server does not look whether anybody waits for an answer: it would go on, and keep its locks, until it has one.
      # It can be told on another connection only, which a name with several addresses or a balancer may lead elsewhere:
      # there the number is somebody else's.
      def break_off(_driver, identity)
        other = connect(**HASTE)
        control(other, "KILL #{identity.id}") if same_server?(other, identity)
      ensure
        other&.close
      end

      # Numbers of connections begin anew with the server.
      def same_server?(other, identity)
        return false unless ask(other, IDENTITY, []).rows.first.drop(1) == identity.server

        uptime = Integer(ask(other, "SHOW GLOBAL STATUS LIKE 'Uptime'", []).rows.first.last)
        uptime + 1 >= Deadline.now - identity.since
      end
    end
  end
end
