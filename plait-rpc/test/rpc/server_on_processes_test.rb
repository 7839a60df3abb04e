# frozen_string_literal: true

require "test_helper"
require_relative "server_cases"
require_relative "server_cases/shared_queue"
require_relative "served_program"

# A server on several processes, whatever runs the methods in them.
module ServerOnProcessesCases
  # What each process has for itself: with two of them nobody could say where it ends.
  EACH = %i[limit queue pipeline connections].freeze

  include ServerCases

  def queue = ServerCases::SharedQueue

  def serve(handler = @service, workers: 2, **options)
    workers = 1 if options.keys.intersect?(EACH)
    super
    wait_until { @server.workers.size == workers }
    @server
  end
end

class RPCServerOnProcessesTest < Minitest::Test
  include ServerOnProcessesCases

  def mechanism = :processes

  def test_connections_are_shared_evenly
    serve(workers: 3)
    wait_until(timeout: 60, what: "an even share") do # a busy machine may leave one of them out for a while
      shares = Array.new(45) { call(connect, "pid").last }.tally
      @talkers.each { |talker| talker.socket.close }.clear
      shares.keys.sort == @server.workers.sort && shares.values.min >= 5
    end
  end

  def test_a_worker_that_dies_is_replaced
    serve({ pid: -> { Process.pid }, die: -> { Process.kill(:KILL, Process.pid) && sleep }, add: ->(a, b) { a + b } })
    before = @server.workers
    talkers = before.map { |pid| talker_of(pid) }
    talkers.first.request(1, "die")
    assert_closed(talkers.first)
    assert_serves(talkers.last)
    wait_until { @server.workers.size == 2 && @server.workers != before }
    assert_equal(before.last, @server.workers.last)
    assert_serves(talker_of(@server.workers.first))
    assert_equal(1, count(:replaced))
  end

  # One that can't even begin is not tried a thousand times a second.
  def test_workers_that_die_again_and_again
    serve({ die: -> { Process.kill(:KILL, Process.pid) && sleep } }, workers: 1)
    took = stopwatch do
      3.times do
        talker = connect
        talker.request(1, "die")
        assert_closed(talker)
      end
    end
    assert_operator(took, :>=, 0.1 + 0.2)
  end

  def test_statistics_are_those_of_all
    serve
    talkers = @server.workers.map { |pid| talker_of(pid) }
    before = count(:requests)
    talkers.each { |talker| 10.times { assert_serves(talker) } }
    assert_equal(before + 20, count(:requests))
    told = call(talkers.first, "rpc.stats").last
    assert_equal([before + 21, 2], told.values_at("requests", "processes"))
    Process.kill(:KILL, @server.workers.first)
    wait_until { count(:replaced) == 1 && @server.workers.size == 2 }
    assert_equal(before + 21, count(:requests), "what the dead one had done")
  end

  def test_a_method_stops_the_server
    serve({ stop: -> { @server.stop(within: 5) } })
    talker = connect
    assert_listeners_end(@endpoint.port) do
      talker.request(1, "stop")
      assert(@thread.join(60))
    end
  end

  def test_a_unix_socket
    Dir.mktmpdir do |folder|
      serve(at: "unix://#{folder}/rpc.sock")
      assert_serves
      @server.stop
      assert(@thread.join(60))
      assert_empty(Dir.children(folder))
    end
  end

  # However the master ends, no process is left: asked to, by Ctrl-C at a terminal, or killed.
  { TERM: "TERM", INT: "-INT", KILL: "KILL" }.each do |name, signal|
    define_method(:"test_ended_by_#{name}") do
      program = ServedProgram.start(on: :processes, workers: 2)
      talker = Talker.new(TCPSocket.new("127.0.0.1", program.port)).tap { |one| @talkers << one }
      assert_serves(talker)
      Process.kill(signal, program.pid)
      assert_closed(talker)
      wait_until { program.left.empty? }
    ensure
      program&.stop
    end
  end

  private

  # Connected to that process.
  def talker_of(pid)
    wait_until do
      talker = connect
      talker if call(talker, "pid").last == pid
    end
  end
end

class RPCServerOnProcessesOfFibersTest < Minitest::Test
  include ServerOnProcessesCases

  def mechanism = %i[processes fibers]
end
