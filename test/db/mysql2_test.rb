# frozen_string_literal: true

require_relative "../test_helper"
require_relative "procedure_cases"
require_relative "sql_cases"

class DBMysql2Test < Minitest::Test
  include SqlCases
  include ProcedureCases

  private

  def gem = "mysql2"

  def driver = ::Mysql2::Client

  def server_error = ::Mysql2::Error

  def url
    server = Support::MariadbServer.shared
    "mysql2://#{server.user}@#{server.host}:#{server.port}/#{server.database}"
  end
end
