# frozen_string_literal: true

require "test_helper"
require_relative "server_cases"

class ServerOnFibersTest < Minitest::Test
  include ServerCases

  def mechanism = :fibers
end
