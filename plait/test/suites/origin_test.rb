# frozen_string_literal: true

require "test_helper"
require "plait/suites"
require "plait/suites/http/origin"
require "socket"

class OriginTest < Minitest::Test
  Origin = Plait::Suites::Origin

  def teardown = @origin&.stop

  def test_says_what_follows_from_the_target
    assert_equal Origin.body("/bytes/612?id=7", 612), get("/bytes/612?id=7")
    assert_equal 612, get("/").bytesize
    refute_equal get("/bytes/612?id=7"), get("/bytes/612?id=8")
    assert_equal "", get("/bytes/0")
  end

  def test_large_body
    size = (3 * 1024 * 1024) + 17
    assert_equal Origin.body("/bytes/#{size}", size), get("/bytes/#{size}")
  end

  def test_latency
    @origin = Origin.start(latency: 0.15)
    assert_operator seconds { get("/") }, :>=, 0.15
    assert_equal 1, origin.stats[:served]
  end

  def test_a_thousand_connections_at_once_each_get_their_own_answer
    sockets = Array.new(1_000) { connect }
    sockets.each_with_index { |socket, id| socket.write(request("/bytes/612?id=#{id}")) }
    sockets.each.with_index { |socket, id| assert_equal Origin.body("/bytes/612?id=#{id}", 612), read_response(socket) }
    assert_equal({ served: 1_000, accepted: 1_001, rows: {} }, origin.stats)
  ensure
    sockets.each(&:close)
  end

  def test_counts_what_is_in_flight_by_row
    @origin = Origin.start(latency: 0.5)
    %w[a a b].map { |row| Thread.new { get("/?row=#{row}") } }.each(&:join)
    get("/")
    assert_equal({ a: 2, b: 1 }, origin.stats[:rows])
  end

  def test_close
    assert_closed_after("GET /bytes/9 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "Connection: close")
  end

  def test_what_it_does_not_serve
    assert_closed_after("nonsense\r\n\r\n", "HTTP/1.1 404 ")
    response = Net::HTTP.get_response(origin.uri("/nowhere"))
    assert_equal "404", response.code
    assert_match(%r{/bytes/612}, response.body)
  end

  def test_a_client_that_goes_away_does_not_hurt
    connect.close
    socket = connect
    socket.write(request("/bytes/50000000"))
    socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
    socket.close
    assert_equal 612, get("/").bytesize
    assert_equal 1, origin.stats[:served]
  end

  def test_a_connection_is_kept_and_pipelined_requests_are_answered_in_order
    socket = connect
    socket.write(request("/bytes/10?id=1") + request("/bytes/9?id=2"))
    assert_equal Origin.body("/bytes/10?id=1", 10), read_response(socket)
    assert_equal Origin.body("/bytes/9?id=2", 9), read_response(socket)
  ensure
    socket.close
  end

  def test_a_request_that_arrives_byte_by_byte
    socket = connect
    2.times do |id|
      request("/bytes/10?id=#{id}").each_char { |char| socket.write(char) }
      assert_equal Origin.body("/bytes/10?id=#{id}", 10), read_response(socket)
    end
  ensure
    socket.close
  end

  def test_the_body_of_a_request_is_skipped
    socket = connect
    socket.write("POST /bytes/5 HTTP/1.1\r\nHost: x\r\nContent-Length: 40000\r\n\r\n")
    socket.write(("x" * 40_000) + request("/bytes/6"))
    assert_equal Origin.body("/bytes/5", 5), read_response(socket)
    assert_equal Origin.body("/bytes/6", 6), read_response(socket)
  ensure
    socket.close
  end

  def test_stop_leaves_nothing_and_may_be_repeated
    assert_no_leaks do
      origin = Origin.start
      Net::HTTP.get(origin.uri)
      pid = origin.pid
      2.times { origin.stop }
      assert_raises(Errno::ESRCH) { Process.kill(0, pid) }
    end
  end

  def test_open_stops_it_after_an_exception
    pid = nil
    assert_raises(KeyError) { Origin.open { |origin| {}.fetch(pid = origin.pid) } }
    assert_raises(Errno::ESRCH) { Process.kill(0, pid) }
  end

  def test_dies_with_its_parent
    reader, writer = IO.pipe
    parent = fork do
      writer.puts(Origin.start.pid)
      sleep
    end
    pid = Integer(reader.gets)
    Process.kill(:KILL, parent)
    Process.wait(parent)
    wait_until(what: "the end of the origin") { gone?(pid) }
  ensure
    [reader, writer].each(&:close)
  end

  def test_a_fork_of_the_parent_does_not_stop_it
    origin
    Process.wait(fork { origin.stop.then { exit!(0) } })
    assert_equal 612, get("/").bytesize
  end

  def test_ctrl_c_in_the_group_does_not_end_it
    Process.kill(:INT, origin.pid)
    assert_equal 612, get("/").bytesize
  end

  private

  def origin = @origin ||= Origin.start(latency: 0)

  def get(target) = Net::HTTP.get(origin.uri(target))

  def connect = TCPSocket.new(Origin::HOST, origin.port).tap { |socket| socket.setsockopt(:TCP, :NODELAY, 1) }

  def request(target) = "GET #{target} HTTP/1.1\r\nHost: x\r\n\r\n"

  def read_response(socket)
    head = +""
    head << socket.gets until head.end_with?("\r\n\r\n")
    socket.read(head[/^content-length: (\d+)/i, 1].to_i)
  end

  def assert_closed_after(bytes, expected)
    socket = connect
    socket.write(bytes)
    assert_includes socket.read, expected
  ensure
    socket.close
  end

  # A zombie that its new parent has not waited for yet is gone as well.
  def gone?(pid)
    File.read("/proc/#{pid}/stat")[/\) (\w)/, 1] == "Z"
  rescue Errno::ENOENT, Errno::ESRCH
    true
  end

  def seconds
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
  end
end
