# frozen_string_literal: true

require_relative "../test_helper"
require_relative "server_cases"

class ServerOnThreadsTest < Minitest::Test
  include ServerCases

  def mechanism = :threads
end
