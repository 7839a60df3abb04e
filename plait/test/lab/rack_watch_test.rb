# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "socket"
require "tmpdir"

class RackWatchTest < Minitest::Test
  def rack(&app)
    @rack = Plait::Lab::RackWatch.new(app, interval: 0.02)
  end

  def teardown = @rack.watch&.stop

  def test_each_process_has_a_watch_of_its_own
    skip("this Ruby can't fork") unless Process.respond_to?(:fork)

    rack { |env| [200, env, []] }
    assert_equal([200, { "a" => 1 }, []], @rack.call({ "a" => 1 }))
    parent = @rack.watch
    read, write = IO.pipe
    pid = fork { (@rack.call({}) && write.syswrite([@rack.watch.alive?, @rack.watch.equal?(parent)])).then { exit!(0) } }
    Process.wait(pid)
    write.close
    assert_equal(["[true, false]", true], [read.read, parent.alive?])
    assert_equal({ running: 0, done: 1 }, parent.snapshot[:sources][:requests])
  ensure
    read&.close
  end

  def test_requests_that_run_are_counted
    rack { |_| @rack.watch.snapshot[:sources][:requests] }
    assert_equal({ running: 1, done: 0 }, @rack.call({}))
    wait_until { @rack.watch.snapshot[:looks].positive? }
    assert_equal({ running: 1, done: 1 }, @rack.call({}))
  end

  # As it is where the process before still has the socket.
  def test_a_socket_that_is_taken_is_no_reason_to_refuse_requests
    Dir.mktmpdir do |folder|
      server = UNIXServer.new("#{folder}/s")
      @rack = Plait::Lab::RackWatch.new(->(_) { [200, {}, []] }, socket: "#{folder}/s", sources: { jobs: Thread::Queue.new })
      _, err = capture_io { 2.times { assert_equal(200, @rack.call({}).first) } }
      assert_match(%r{\Aplait: socket: another process listens at .*/s; .*; this process is watched without it\n\z}, err)
      assert_equal(%i[jobs requests], @rack.watch.snapshot[:sources].keys)
    ensure
      server.close
    end
  end

  def test_what_is_wrong_beside_the_socket_is_raised
    @rack = Plait::Lab::RackWatch.new(->(_) {}, interval: 0, socket: "unused")
    _, err = capture_io { assert_match(/interval/, assert_raises(Plait::UsageError) { @rack.call({}) }.message) }
    assert_empty(err)
  end

  def test_an_error_of_the_app_is_its_own
    rack { |_| raise KeyError, "no" }
    assert_raises(KeyError) { @rack.call({}) }
    assert_equal({ running: 0, done: 1 }, @rack.statistics)
  end
end
