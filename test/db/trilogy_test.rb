# frozen_string_literal: true

require_relative "../test_helper"
require_relative "procedure_cases"
require_relative "sql_cases"

class DBTrilogyTest < Minitest::Test
  include SqlCases
  include ProcedureCases

  private

  def gem = "trilogy"

  def driver = ::Trilogy

  def server_error = ::Trilogy::Error

  def busy_error = ::Trilogy::SynchronizationError

  def url
    server = Support::MariadbServer.shared
    "trilogy://#{server.user}@#{server.host}:#{server.port}/#{server.database}"
  end
end
