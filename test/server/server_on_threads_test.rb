# frozen_string_literal: true

require_relative "../test_helper"
require_relative "server_cases"

class ServerOnThreadsTest < Minitest::Test
  include ServerCases

  def mechanism = :threads

  # All threads read into one buffer, and at the end of any method another one may go on.
  def test_no_method_is_called_while_a_request_lies_in_the_buffer
    serve_text(lint: false)
    caller = connect
    caller.get
    called = []
    TracePoint.new(:call, :c_call) { |point| called << point.method_id if point.self.is_a?(Plait::Server::Exchange) }
              .enable { 3.times { caller.get } }
    assert_empty(called)
  end
end
