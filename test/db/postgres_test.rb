# frozen_string_literal: true

require_relative "../test_helper"
require_relative "sql_cases"

class DBPostgresTest < Minitest::Test
  include SqlCases

  private

  def gem = "pg"

  def driver = ::PG::Connection

  def server_error = ::PG::Error

  def url
    Support::PostgresServer.shared.url
  end

  def holder(number) = "$#{number}"

  def sleeping(seconds) = "SELECT pg_sleep(#{seconds})"
end
