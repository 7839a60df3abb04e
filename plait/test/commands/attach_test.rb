# frozen_string_literal: true

require "test_helper"
require "json"
require "socket"
require "support/command_line"

class AttachCommandTest < Minitest::Test
  include Support::CommandLine

  def setup
    super
    @queue = Thread::Queue.new
    @threads = Array.new(3) { Thread.new { @queue.pop } }
    @watch = Plait::Lab.watch(interval: 0.01, sources: { jobs: @queue }, socket: path("s%p"))
    @socket = path("s#{Process.pid}")
  end

  def teardown
    @watch.stop
    @threads.each { |thread| thread.kill.join }
    super
  end

  def snapshot = JSON.parse(UNIXSocket.open(@socket, &:read))

  def test_one_interval_without_a_terminal
    wait_until { snapshot["places"].any? { |row| row["place"].start_with?(__FILE__) && row["doing"].end_with?("queue") } }
    result = plait("attach", @socket, "--interval", "1")
    assert_equal([0, ""], [result.code, result.err])
    assert_match(/\A[\d.]+ m?s, \d+ looks; GVL wait: (not measured|[\d.]+ [mµ]?s)$/, result.out)
    assert_match(/^ +\d\.\d\d  waiting for a queue  at #{__FILE__}:/, result.out)
    assert_match(/^jobs: .*3/, result.out)
  end

  def test_what_is_over_is_not_shown
    wait_until { snapshot["looks"] > 5 }
    3.times { @queue << nil }
    @threads.each(&:join)
    seen = snapshot["looks"]
    wait_until { snapshot["looks"] > seen + 1 } # a look that was under way saw them
    refute_match(/a queue  at #{__FILE__}/, plait("attach", @socket, "--interval", "0.2").out)
  end

  # What was seen before is not shown as if it were new.
  def test_a_program_that_could_not_look_for_some_time
    snapshots = [5, 5, 6].map { |looks| { seconds: 1.0, looks: looks, waits: { "waiting for a lock" => 5.0 / looks } } }
    answered_by(*snapshots) do
      result = plait("attach", @socket, "--interval", "0.01")
      assert_equal(["0 s, 1 looks; GVL wait: not measured\n", ""], [result.out, result.err])
    end
  end

  # The program's snapshot names more places than a screen has: one that joins the first ten is not new.
  def test_a_place_that_was_seen_before
    threads = Array.new(12) do |n|
      eval("Thread.new { @queue.pop }", binding, "place#{n}.rb", 1) # rubocop:disable Style/EvalWithLocation
    end
    wait_until { snapshot["places"].map { |row| row["place"] }.grep(/\Aplace/).uniq.size == 12 } # one may run when it is seen
  ensure
    threads&.each { |thread| thread.kill.join }
  end

  def test_a_terminal_has_a_new_screen_each_interval
    result = plait_on_terminal("attach", @socket, "--interval", "0.1") do |keyboard, screen|
      wait_until { screen.call.scan("waiting for a queue  at").size > 2 }
      keyboard.write("\u0003")
    end
    assert_equal(130, result.code, result.out)
  end

  def test_json
    told = JSON.parse(plait("attach", @socket, "--json").out)
    assert_equal({ "jobs" => { "size" => 0, "waiting" => 3 } }, told["sources"])
  end

  def test_only_the_user_may_connect_and_nothing_is_left
    assert_equal(0o600, File.stat(@socket).mode & 0o777)
    @watch.stop
    refute_path_exists(@socket)
    assert_refused(/no program answers at .*: No such file/)
  end

  def test_a_file_that_a_killed_program_has_left
    @watch.stop
    server = UNIXServer.new(@socket)
    server.close
    @watch = Plait::Lab.watch(socket: @socket)
    assert_operator(snapshot["seconds"], :>, 0)
    error = assert_raises(Plait::UsageError) { Plait::Lab.watch(socket: @socket) }
    assert_match(/another process listens at .*; with %p in the path each process has its own/, error.message)
  end

  # A worker that ends by exit! leaves its socket; others that still run, and foreign files, stay.
  def test_sockets_that_ended_processes_have_left
    ended = fork { UNIXServer.new(path("s#{Process.pid}")) && exit!(0) }
    Process.wait(ended)
    write("s#{ended}0000", "no socket")
    UNIXServer.new(path("s#{Process.ppid}")).close
    UNIXServer.new(path("t#{ended}")).close
    before = Dir.children(folder)
    @watch.stop
    @watch = Plait::Lab.watch(socket: path("s%p"))
    assert_equal(before.sort - ["s#{ended}"], Dir.children(folder).sort)
  end

  def test_paths_that_can_not_be
    assert_match(/has at most 107 bytes/, assert_raises(Plait::UsageError) { Plait::Lab.watch(socket: "x" * 120) }.message)
    assert_match(/can't listen at .*No such file/, assert_raises(Plait::UsageError) do
      Plait::Lab.watch(socket: path("no/s"))
    end.message)
    write("text", "no socket")
    assert_match(/can't listen at .*in use/, assert_raises(Plait::UsageError) { Plait::Lab.watch(socket: path("text")) }.message)
    assert_equal("no socket", File.read(path("text")))
    assert_equal(1, Thread.list.count { |thread| thread.name == "plait watch" })
  end

  # A client that never reads must not keep others from an answer.
  def test_a_client_that_only_connects
    idle = Array.new(3) { UNIXSocket.open(@socket) }
    assert_operator(snapshot["looks"], :>=, 0)
  ensure
    idle&.each(&:close)
  end

  def test_a_snapshot_that_json_can_not_have
    @watch.stop
    figures = Struct.new(:statistics).new({ mean: Float::NAN })
    @watch = Plait::Lab.watch(sources: { pool: figures }, socket: @socket)
    assert_refused(/has no answer of Plait::Lab\.watch/)
    figures.statistics = { mean: 1.0 }
    assert_equal({ "pool" => { "mean" => 1.0 } }, snapshot["sources"])
  end

  # The thread waits in the first accept already.
  def test_a_program_that_has_no_descriptor_for_a_while
    server = @watch.instance_variable_get(:@socket).instance_variable_get(:@server)
    errors = [Errno::EMFILE, Errno::ECONNABORTED]
    server.define_singleton_method(:accept) { errors.empty? ? super() : raise(errors.shift) }
    2.times { assert_operator(snapshot["looks"], :>=, 0) }
    assert_empty(errors)
  end

  def test_a_watch_that_has_failed_leaves_no_socket
    ["plait watch", "plait watch socket"].each do |name|
      thread = Thread.list.find { |one| one.name == name }
      thread.raise(NotImplementedError)
      wait_until { !thread.alive? }
      assert_raises(NotImplementedError) { @watch.stop }
      refute_path_exists(@socket)
      @watch = Plait::Lab.watch(socket: @socket)
    end
  end

  def test_another_program_s_socket
    @socket = path("other")
    server = UNIXServer.new(@socket)
    thread = Thread.new { loop { server.accept.close } }
    assert_refused(/has no answer of Plait::Lab\.watch/)
  ensure
    thread&.kill&.join
    server&.close
  end

  private

  # A program with these snapshots, one a connection.
  def answered_by(*snapshots)
    server = UNIXServer.new(@socket = path("other"))
    thread = Thread.new do
      snapshots.each do |snapshot|
        server.accept.tap { |client| client.write(JSON.generate(places: [], loops: [], sources: {}, **snapshot)) }.close
      end
    end
    yield
  ensure
    thread&.kill&.join
    server&.close
  end

  def assert_refused(words)
    result = plait("attach", @socket)
    assert_equal(2, result.code)
    assert_match(/\Aplait: .*#{words}/, result.err)
  end
end
