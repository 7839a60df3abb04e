# frozen_string_literal: true

require "test_helper"
require_relative "server_cases"

class ServerOnThreadsTest < Minitest::Test
  include ServerCases

  def mechanism = :threads

  # Seconds that the first of a full queue waits before others are refused, as in rb_server_work.c.
  PATIENCE = 0.25
  QUEUE = 4

  # Workers who are in the app may but wait for their turn: what is more than the queue holds is then left with the kernel.
  def test_a_burst_is_no_overload
    @begun = Thread::Queue.new
    serve(limit: 2, queue: QUEUE, lint: false) do
      @begun << Plait::Deadline.now
      till = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.002
      nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < till
      [200, {}, []]
    end
    5.times { return pass if refused_of_a_burst.zero? }
    skip("this machine was overloaded five times: the first in the queue had to wait for #{PATIENCE} s") if overloaded?

    flunk("some of a burst were always refused, though none of the queue had to wait for #{PATIENCE} s")
  end

  # All threads read into one buffer, and at the end of any method another one may go on.
  def test_no_method_is_called_while_a_request_lies_in_the_buffer
    serve_text(lint: false)
    caller = connect
    caller.get
    called = []
    TracePoint.new(:call, :c_call) { |point| called << point.method_id if point.self.is_a?(Plait::Server.const_get(:Exchange)) }
              .enable { 3.times { caller.get } }
    assert_empty(called)
  end

  # The other requests' threads are not in the child, and their stacks are used again.
  def test_a_timeout_in_a_fork_that_an_app_has_made
    others = Thread::Queue.new
    serve(lint: false) do |env|
      next [200, {}, [others.pop && "other"]] unless env["PATH_INFO"] == "/fork"

      wait_until { count(:running) == 4 }
      [200, {}, [timeout_in_a_fork]]
    end
    caller = connect.send("GET /fork HTTP/1.1\r\nHost: a\r\n\r\n")
    waiting = Array.new(3) { connect.send("GET /other HTTP/1.1\r\nHost: a\r\n\r\n") }
    assert_equal("timeout", caller.hear.body)
  ensure
    3.times { others << true }
    waiting&.each(&:hear)
  end

  private

  # @return [Integer] of 300
  def refused_of_a_burst
    @begun.clear
    callers = Array.new(300) { connect }
    callers.each { |caller| caller.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
    callers.count { |caller| caller.hear.status == 503 }
  end

  # The last of so many that began was in the queue while the others did. (Half of it, as the moments are not quite the core's.)
  def overloaded?
    moments = Array.new(@begun.size) { @begun.pop }
    moments.each_cons(QUEUE + 2).any? { |first, *, last| last - first > PATIENCE / 2 }
  end

  def timeout_in_a_fork
    reader, writer = IO.pipe
    pid = fork do
      Array.new(12) { Thread.new { [1].sort_by { Array.new(300) { |n| n.to_s * 9 }.hash } } }.each(&:join)
      Timeout.timeout(0.2) { sleep }
    rescue Timeout::Error
      writer.syswrite("timeout")
    ensure
      exit!(0)
    end
    writer.close
    reader.read
  ensure
    Process.wait(pid)
    reader.close
  end
end
