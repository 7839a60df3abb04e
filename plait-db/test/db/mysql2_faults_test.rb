# frozen_string_literal: true

require "test_helper"
require_relative "mysql_faults"

class DBMysql2FaultsTest < Minitest::Test
  include FaultCases
  include MysqlFaults

  private

  def gem = "mysql2"

  def driver_error = ::Mysql2::Error
end
