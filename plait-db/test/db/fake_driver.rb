# frozen_string_literal: true

require "plait/db"
require "plait/db/session"

# A driver that keeps rows in memory, and its bridge: the first of the two places of a driver.
class FakeDriver
  def initialize
    @rows = []
  end

  def closed? = @closed

  def close = @closed = true

  def open? = !@before.nil?

  def run(sql, values)
    case sql
    when "BEGIN" then @before = @rows.dup
    when "COMMIT" then @before = nil
    when "ROLLBACK" then @rows, @before = @before, nil
    when "INSERT" then @rows << values
    when "FAIL" then raise IOError, "refused"
    end
    sql == "SELECT" ? @rows : []
  end
end

module Plait
  module DB
    class Fake < Session
      private

      def connect = FakeDriver.new

      def ask(driver, sql, values) = Result.new(%w[a b], driver.run(sql, values))

      def ask_prepared(driver, sql, values) = ask(driver, prepared(sql) { sql }, values)

      def each_row(driver, sql, values, &block) = ask(driver, sql, values).each(&block)

      def ping(driver) = !driver.closed?

      def answer?(error) = error.is_a?(IOError)

      def idle?(driver) = !driver.open?
    end
  end
end
