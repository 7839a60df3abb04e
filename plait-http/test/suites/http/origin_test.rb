# frozen_string_literal: true

require "test_helper"
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

  def test_chunked_bodies_as_net_http_decodes_them
    [0, 1, 8192, 70_001, 600_000].each do |size|
      response = Net::HTTP.get_response(origin.uri("/chunked/#{size}"))
      assert_equal "chunked", response["Transfer-Encoding"]
      assert_equal Origin.body("/chunked/#{size}", size), response.body
    end
  end

  def test_latency_of_the_origin_and_of_a_request
    @origin = Origin.start(latency: 0.15)
    assert_operator seconds { get("/") }, :>=, 0.15
    assert_operator seconds { get("/?latency=0.3") }, :>=, 0.3
    assert_equal 2, origin.stats[:served]
  end

  def test_a_thousand_connections_at_once_each_get_their_own_answer
    sockets = Array.new(1_000) { connect }
    sockets.each_with_index { |socket, id| socket.write(request("/bytes/612?id=#{id}&latency=0.5")) }
    sockets.each.with_index do |socket, id|
      assert_equal Origin.body("/bytes/612?id=#{id}&latency=0.5", 612), read_response(socket)
    end
    stats = origin.stats
    assert_operator stats[:peak_in_flight], :>, 1
    assert_equal [1_000, 0], stats.values_at(:served, :in_flight)
    assert_operator stats[:peak_connections], :>=, 1_000
  ensure
    sockets.each(&:close)
  end

  def test_counts_what_is_in_flight
    sockets = Array.new(20) { connect }
    sockets.each { |socket| socket.write(request("/?latency=30")) }
    wait_until { origin.stats[:in_flight] == 20 }
    assert_equal 20, origin.stats[:peak_in_flight]
    sockets.each(&:close)
    wait_until { origin.stats[:in_flight].zero? }
    get("/")
    assert_equal 20, origin.stats[:peak_in_flight], "a peak does not fall"
    @origin.stop
  end

  def test_reset_forgets_what_is_over
    get("/")
    assert_equal 1, origin.reset[:served]
    assert_equal [0, 0, 0], origin.stats.values_at(:served, :peak_in_flight, :body_bytes)
  end

  def test_a_connection_is_kept_and_pipelined_requests_are_answered_in_order
    socket = connect
    socket.write(request("/bytes/10?id=1&latency=0.02") + request("/chunked/10?id=2") + request("/bytes/10?id=3"))
    assert_equal Origin.body("/bytes/10?id=1&latency=0.02", 10), read_response(socket)
    assert_equal Origin.body("/chunked/10?id=2", 10), read_response(socket)
    assert_equal Origin.body("/bytes/10?id=3", 10), read_response(socket)
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

  def test_close_and_the_older_http
    assert_closed_after("GET /bytes/9 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "Connection: close")
    assert_closed_after("GET /chunked/9 HTTP/1.0\r\n\r\n", Origin.body("/chunked/9", 9))
    socket = connect
    socket.write("GET /bytes/9 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" * 2)
    2.times { assert_equal Origin.body("/bytes/9", 9), read_response(socket) }
  ensure
    socket.close
  end

  def test_head_has_no_body
    Net::HTTP.start(Origin::HOST, origin.port) do |http|
      assert_equal "700", http.head("/bytes/700")["Content-Length"]
      assert_equal Origin.body("/bytes/70", 70), http.get("/bytes/70").body
    end
  end

  def test_malformed_requests_are_refused_and_the_connection_closed
    { "nonsense\r\n\r\n" => "400", "GET nowhere HTTP/1.1\r\n\r\n" => "400", "GET / HTTP/2.0\r\n\r\n" => "400",
      "GET / HTTP/1.1\r\nbad header: x\r\n\r\n" => "400", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n" => "400",
      "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" => "501",
      "GET / HTTP/1.1\r\nX: #{"y" * 20_000}" => "431" }.each do |bytes, status|
      assert_closed_after(bytes, "HTTP/1.1 #{status} ")
    end
    assert_equal 7, origin.stats[:malformed]
    assert_equal "", get("/bytes/0")
  end

  def test_unknown_path_is_told_what_there_is
    response = Net::HTTP.get_response(origin.uri("/nowhere"))
    assert_equal "404", response.code
    assert_match(%r{/bytes/612}, response.body)
    assert_equal "400", Net::HTTP.get_response(origin.uri("/bytes/9999999999")).code
  end

  def test_a_client_that_goes_away_does_not_hurt
    connect.close
    socket = connect
    socket.write(request("/bytes/50000000"))
    socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
    socket.close
    wait_until { origin.stats.values_at(:connections, :in_flight) == [1, 0] }
    assert_equal 0, origin.stats[:served]
  end

  def test_threads_serve_the_same
    @origin = Origin.start(latency: 0, per_connection: :threads)
    test_says_what_follows_from_the_target
    test_a_connection_is_kept_and_pipelined_requests_are_answered_in_order
    test_malformed_requests_are_refused_and_the_connection_closed
    test_chunked_bodies_as_net_http_decodes_them
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
    length = head[/^content-length: (\d+)/i, 1]
    length ? socket.read(length.to_i) : read_chunks(socket)
  end

  def read_chunks(socket)
    body = +""
    while (size = socket.gets.to_i(16)).positive?
      body << socket.read(size)
      socket.gets
    end
    socket.gets
    body
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
