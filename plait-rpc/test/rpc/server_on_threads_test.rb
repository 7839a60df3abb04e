# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "server_cases"

class RPCServerOnThreadsTest < Minitest::Test
  include ServerCases

  def mechanism = :threads
end
