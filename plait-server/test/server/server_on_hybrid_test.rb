# frozen_string_literal: true

require "minitest/mock"
require "test_helper"
require_relative "server_cases"

class ServerOnHybridTest < Minitest::Test
  include ServerCases

  def mechanism = :hybrid

  def test_what_holds_the_loop_moves_to_threads
    threads = Thread::Queue.new
    serve(lint: false) do |env|
      threads << Thread.current
      compute(0.03) if env["PATH_INFO"].start_with?("/slow")
      [200, {}, []]
    end
    caller = connect
    4.times { |number| caller.get("/slow/#{number}") }
    caller.get("/quick")
    first, second, third, fourth, quick = Array.new(5) { threads.pop }
    assert_equal([first, first], [second, quick], "the loop's thread")
    refute_includes([third, fourth], first)
  end

  # It needs no processor, but holds the loop all the same.
  def test_what_stands_still_by_itself_moves_too
    threads = Thread::Queue.new
    serve(lint: false) do
      threads << Thread.current
      Fiber.new(blocking: true) { sleep(0.03) }.resume
      [200, {}, []]
    end
    caller = connect
    4.times { caller.get }
    first, *, last = Array.new(4) { threads.pop }
    refute_equal(first, last)
  end

  # An end of the whole server comes while no thread is free.
  def test_a_request_that_is_cancelled_before_it_gets_a_thread_leaves_no_file
    serve(spool: 1000, lint: false) { compute(0.03) && [200, {}, []] }
    request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n#{"x" * 200_000}"
    2.times { connect.send(request).hear }
    assert_no_leaks do
      Plait.stub(:offload, ->(*) { raise Plait.const_get(:Mechanisms)::Interruption }) do
        caller = connect.send(request)
        assert_closed(caller)
        caller.close
        assert_raises(Plait.const_get(:Mechanisms)::Interruption) { @thread.join }
      end
    end
    @server = nil
  end

  # What an app takes at the beginning and gives back with its body, such as a lock, belongs to a thread.
  def test_a_request_is_moved_as_a_whole
    threads = Thread::Queue.new
    body = Class.new do
      define_method(:initialize) { threads << Thread.current }
      define_method(:each) { |&block| block.call("part") && (threads << Thread.current) }
      define_method(:close) { threads << Thread.current }
    end
    serve(lint: false) do |env|
      env["rack.response_finished"] << ->(*) { threads << Thread.current }
      compute(0.03)
      [200, {}, body.new]
    end
    caller = connect
    seen = Array.new(5) { caller.get("/slow") && Array.new(4) { threads.pop }.uniq }
    assert_equal([1], seen.map(&:size).uniq, "threads for a request")
    refute_equal(seen.first, seen.last, "the last ones are moved")
  end

  def test_an_app_with_a_lock_around_it
    slow = ->(_) { compute(0.03) && [200, {}, Streams::Pieces.new("x")] }
    serve(Rack::Lock.new(slow), lint: false)
    callers = Array.new(3) { connect }
    4.times do
      callers.each { |caller| caller.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n") }
      assert_equal(%w[x], callers.map { |caller| caller.hear.body }.uniq)
    end
  end

  def test_what_is_moved_may_raise_end_and_be_taken_over
    serve(lint: false) do |env|
      compute(0.03)
      raise "boom" if env["PATH_INFO"] == "/slow/raise"

      Thread.exit if env["PATH_INFO"] == "/slow/exit"
      env["rack.hijack"].call.tap { |socket| socket.write("mine") }.close if env["PATH_INFO"] == "/slow/hijack"
      [200, {}, ["x" * 3_000_000]]
    end
    3.times { get("/slow") }
    assert_equal(500, get("/slow/raise").status)
    assert_equal(500, get("/slow/exit").status)
    assert_equal("mine", connect.send("GET /slow/hijack HTTP/1.1\r\nHost: a\r\n\r\n").rest)
    assert_equal(3_000_000, get("/slow").body.bytesize)
    assert_equal(7, count(:requests))
    wait_until { count(:running).zero? }
  end

  def test_what_is_quick_again_comes_back
    threads = Thread::Queue.new
    slow = true
    serve(lint: false) do
      threads << Thread.current
      compute(slow ? 0.03 : 0)
      [200, {}, []]
    end
    caller = connect
    3.times { caller.get }
    slow = false
    first, _, moved = Array.new(3) { threads.pop }
    refute_equal(first, moved)
    wait_until { caller.get && threads.pop == first }
  end

  private

  # Of the processor's time: on a busy machine others have it meanwhile.
  def computed = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

  def compute(seconds)
    till = computed + seconds
    nil while computed < till
    true
  end
end
