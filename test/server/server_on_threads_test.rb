# frozen_string_literal: true

require_relative "../test_helper"
require_relative "server_cases"

class ServerOnThreadsTest < Minitest::Test
  include ServerCases

  def mechanism = :threads

  # Workers who are in the app may but wait for their turn: what is more than the queue holds is then left with the kernel.
  def test_a_burst_is_no_overload
    serve(limit: 2, queue: 4, lint: false) do
      till = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.002
      nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < till
      [200, {}, []]
    end
    callers = Array.new(300) { connect }
    callers.each { |caller| caller.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
    refused = callers.count { |caller| caller.hear.status == 503 }
    assert_operator(refused, :<, 30, "of 300; some may be on a machine that stands still for a while")
  end

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
