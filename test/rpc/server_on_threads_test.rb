# frozen_string_literal: true

# bin/test: jruby

require_relative "../test_helper"
require_relative "server_cases"

class RPCServerOnThreadsTest < Minitest::Test
  include ServerCases

  def mechanism = :threads
end
