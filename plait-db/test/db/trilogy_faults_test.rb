# frozen_string_literal: true

require "test_helper"
require_relative "mysql_faults"

class DBTrilogyFaultsTest < Minitest::Test
  include FaultCases
  include MysqlFaults

  private

  def gem = "trilogy"

  def driver_error = ::Trilogy::Error
end
