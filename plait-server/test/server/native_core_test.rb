# frozen_string_literal: true

require "test_helper"
require "plait/server"
require_relative "caller"

# The core by itself, with workers of the test's own.
class NativeCoreTest < Minitest::Test
  # Seconds until a sweep closes an idle connection.
  IDLE = 0.05

  def setup
    options = Plait::Server.const_get(:Options).build(on: :threads, limit: 4, idle_timeout: IDLE)
    @threads = []
    core, reply = %i[NativeCore Reply].map { |name| Plait::Server.const_get(name) }
    @core = core.new(app, reply.new(options), nil, -> { spawn_worker }, options.settings)
    @listener = TCPServer.new("127.0.0.1", 0)
    @core.listen(@listener, "http", "localhost", "80")
    @core.begin
    @callers = []
  end

  def teardown
    @callers.each(&:close)
    @core.halt
    @threads.each { |thread| assert(thread.join(20), "a worker does not end") }
    @core.close
    @listener.close
  end

  def test_where_there_is_no_further_thread_those_that_are_there_do_the_work
    @refused = ThreadError.new("can't create Thread: Resource temporarily unavailable")
    callers = Array.new(5) { ask("/wait") }
    sleep(0.001) until @core.statistics.fetch(:running) == 1
    @gate = true
    assert_equal([200], callers.map { |caller| caller.hear.status }.uniq)
    assert_equal(1, @core.statistics.fetch(:workers))
    assert_operator(@core.statistics.fetch(:exhausted), :>, 0)
    @refused = nil
    assert_equal(200, ask("/").hear.status)
    wait_until { @core.statistics.fetch(:workers) == 2 }
  end

  def test_the_last_worker_is_replaced_as_soon_as_there_is_a_thread
    @refused = ThreadError.new("can't create Thread: Resource temporarily unavailable")
    assert_equal(500, ask("/exit").hear.status)
    wait_until { @core.statistics.fetch(:workers).zero? }
    caller = ask("/")
    @refused = nil
    wait_until { @core.sweep && @core.statistics.fetch(:workers) == 1 }
    assert_equal(200, caller.hear.status)
  end

  # As by an app that kills what threads it finds.
  def test_workers_that_are_killed_while_they_are_parked_are_replaced
    5.times do
      answered_together(4)
      wait_until { parked.size == 4 }
      parked.first(rand(1..4)).each { |thread| thread.kill.join }
    end
    answered_together(4)
  end

  # The call is in the queue, and who is woken by it ends instead.
  def test_who_is_killed_when_he_is_called_takes_no_call_along
    answered_together(4)
    wait_until { parked.size == 4 }
    20.times do
      Thread.new { parked.each(&:kill) }.tap { ask("/").hear }.join
      answered_together(4)
      wait_until { parked.size == 4 }
    end
  end

  # A client was promised another answer on its connection, and its next request may be on the way.
  %w[/retire /retire/streamed].each do |path|
    define_method("test_a_connection_whose_answer_has_not_told_of_its_end_gets_one_more_at_#{path}") do
      caller = ask(path)
      assert_nil(caller.hear.fields["connection"])
      answer = caller.get("/")
      assert_equal([200, "close"], [answer.status, answer.fields["connection"]])
      assert_raises(EOFError) { caller.raw }
    end
  end

  # The only worker runs the app: nobody asks the kernel meanwhile what has come.
  def test_a_request_that_has_come_unseen_resets_no_answer
    @refused = ThreadError.new("can't create Thread: Resource temporarily unavailable")
    caller = ask("/wait/close")
    wait_until { @core.statistics.fetch(:running) == 1 }
    caller.send("GET /second HTTP/1.1\r\nHost: a\r\n\r\n")
    @gate = true
    assert_equal("close", caller.hear.fields["connection"])
    assert_raises(EOFError) { caller.raw }
  end

  # The only worker runs the app, and the connection was idle until then.
  def test_a_request_that_has_come_unseen_is_not_expired
    @refused = ThreadError.new("can't create Thread: Resource temporarily unavailable")
    idle = ask("/").tap(&:hear)
    busy = ask("/wait")
    wait_until { @core.statistics.fetch(:running) == 1 }
    idle.send("GET /second HTTP/1.1\r\nHost: a\r\n\r\n")
    sleep(IDLE * 2)
    @core.sweep
    @gate = true
    assert_equal([200, 200], [busy, idle].map { |caller| caller.hear.status })
  end

  private

  # All of them run at the same time.
  def answered_together(count)
    @gate = false
    callers = Array.new(count) { ask("/wait") }
    wait_until { @core.statistics.fetch(:running) == count }
    @gate = true
    assert_equal([200], callers.map { |caller| caller.hear.status }.uniq)
  end

  def parked = @threads.select { |thread| thread.alive? && thread.backtrace.to_a.first.to_s.include?("pop") }

  def app
    lambda do |env|
      Thread.exit if env["PATH_INFO"] == "/exit"
      sleep(0.001) until !env["PATH_INFO"].start_with?("/wait") || @gate
      [200, env["PATH_INFO"].end_with?("/close") ? { "connection" => "close" } : {}, body(env["PATH_INFO"])]
    end
  end

  def body(path)
    return Enumerator.new { |parts| @core.retire && (parts << "a" << "b") } if path == "/retire/streamed"

    core = @core
    path == "/retire" ? [].tap { |parts| parts.define_singleton_method(:close) { core.retire } } : []
  end

  def spawn_worker
    raise @refused if @refused

    @threads << Thread.new { @core.work }
  end

  def ask(path)
    caller = Caller.new(TCPSocket.new("127.0.0.1", @listener.local_address.ip_port))
    @callers << caller
    caller.send("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n")
  end
end
