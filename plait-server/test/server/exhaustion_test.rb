# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "plait/server"
require "support/certificates"
require "support/fresh_ruby"
require "support/refused_thread"
require_relative "http2/raw_connection"
require_relative "lone_server"

# A server in a process of its own, with few descriptors, or under load that leaves nothing behind.
class ServerExhaustionTest < Minitest::Test
  include RawHTTP2

  FILE = "GET /file HTTP/1.1\r\nHost: a\r\n\r\n"
  ECHO = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na"

  %i[threads fibers].each do |mechanism|
    define_method(:"test_without_descriptors_on_#{mechanism}") do
      with_server(mechanism, 60) do
        callers = Array.new(100) { connect }
        served, waiting = callers.partition { |caller| answered?(caller) }
        assert_operator(served.size, :>, 20)
        refute_empty(waiting)
        assert_operator(tell[:exhausted], :>, 0, "it has met the limit")
        assert_idle
        served.each(&:close)
        waiting.each do |caller|
          assert_equal(200, caller.hear.status)
          caller.close
        end
      end
    end

    define_method(:"test_short_connections_leave_nothing_behind_on_#{mechanism}") do
      with_server(mechanism) do
        short_connections(300)
        before = tell[:memory]
        short_connections(1_000)
        assert_operator(tell[:memory] - before, :<, 2_000_000, "bytes of memory")
      end
    end
  end

  # Three requests that meet each other in the app need three threads.
  REFUSED = <<~RUBY
    require "plait/server"
    require "socket"

    Process::Sys.setuid(20_000 + (Process.pid % 40_000)) if Process.uid.zero?
    here = Queue.new
    app = lambda do |env|
      number = env["PATH_INFO"][1..].to_i
      here << 1
      sleep(0.001) until here.size >= number
      [200, {}, ["x"]]
    end
    server = Plait::Server.new(app, on: :threads, limit: 8, folder: "/tmp")
    port = server.listen("tcp://127.0.0.1:0").port
    thread = server.start
    ask = lambda do |path|
      socket = TCPSocket.new("127.0.0.1", port)
      socket.write("GET \#{path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      socket
    end
    ask.call("/1").read
    soft, hard = Process.getrlimit(:NPROC)
    Process.setrlimit(:NPROC, Dir.children("/proc/self/task").size, hard)
    Array.new(5) { ask.call("/1") }.each(&:read)
    Process.setrlimit(:NPROC, soft, hard)
    here.clear
    Array.new(3) { ask.call("/3") }.each(&:read)
    server.stop(within: 1)
    thread.join
    puts "three at once"
  RUBY

  def test_threads_come_back_when_the_system_has_refused_some
    Support::RefusedThread.need_survival
    result = Support::FreshRuby.run(REFUSED)
    assert_equal(["three at once\n", ""], [result.out, result.err])
  end

  # A connection of HTTP/2 takes more than one descriptor.
  def test_silent_peers_of_http2_leave_the_app_its_descriptors
    with_certificate do |files|
      LoneServer.run(:hybrid, files: 256, **files) do |server|
        sockets = Array.new(150) { open_silently(server.tls_port) }.compact
        assert_operator(sockets.size, :>, 20)
        wait_until { server.connect.get("/file").status == 200 }
      ensure
        sockets&.each(&:close)
      end
    end
  end

  # A body in a file takes a descriptor beside its connection's.
  %i[threads fibers hybrid].each do |mechanism|
    define_method(:"test_stalled_uploads_leave_the_app_its_descriptors_on_#{mechanism}") do
      LoneServer.run(mechanism, files: 256) do |server|
        upload = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n#{"x" * 500_000}"
        first = server.connect
        callers = Array.new(150) { server.connect.tap { |caller| caller.send(upload) } }
        wait_until { (files = server.tell[:files]) > 180 && sleep(0.2) && server.tell[:files] == files }
        assert_equal(200, first.get("/file").status)
        callers.each(&:close)
        wait_until { server.tell[:files] < 40 }
        assert_equal(200, server.connect.send("#{upload}#{"x" * 400_000}").hear.status)
      ensure
        callers&.each(&:close)
      end
    end
  end

  # @return [OpenSSL::SSL::SSLSocket, nil] nil: the server had no room for it
  def open_silently(port)
    secure(port).tap { |socket| RawConnection.new(socket).write(hello) }
  rescue SystemCallError, OpenSSL::SSL::SSLError, IOError
    nil
  end

  # A frame of some bytes is all that such an answer costs the peer.
  %i[threads fibers hybrid].product(%w[/large /large_parts]).each do |mechanism, path|
    define_method(:"test_answers_that_nobody_takes#{path.tr("/", "_")}_on_#{mechanism}") do
      with_certificate do |files|
        LoneServer.run(mechanism, **files) do |server|
          server.connect.tap(&:get).close
          before = server.tell[:memory]
          raw = RawConnection.new(socket = secure(server.tls_port)).write(hello([4, 0]))
          raw.write((0...100).map { |number| request((number * 2) + 1, GET[0..2] + [[":path", path]]) }.join)
          running = path == "/large" ? 0 : { threads: 16 }.fetch(mechanism, 100)
          wait_until { server.tell.values_at(:requests, :running) == [running.zero? ? 101 : running + 1, running] }
          assert_operator(server.tell[:memory] - before, :<, 60_000_000, "bytes for 100 answers")
          socket.close
        end
      end
    end
  end

  %i[threads fibers].each do |mechanism|
    define_method(:"test_the_app_has_descriptors_left_among_connections_over_tls_on_#{mechanism}") do
      among_few_descriptors(mechanism) do |server|
        plain = answered(server.connect)
        served, waiting = callers_over_tls(server, 250)
        assert_operator(served.size, :>, 150)
        refute_empty(waiting, "they wait in the kernel")
        assert_equal([200, 0], [plain.send(FILE).hear.status, server.tell[:exhausted]])
        [plain, *served.map(&:value)].each(&:close)
        waiting.each { |caller| assert_equal("a", Caller.new(caller.value).send(ECHO).hear.body) && caller.value.close }
      end
    end

    define_method(:"test_the_app_has_descriptors_left_among_connections_of_both_kinds_on_#{mechanism}") do
      among_few_descriptors(mechanism) do |server|
        before = server.tell[:files]
        secure = Array.new(40) { secure(server.tls_port, "http/1.1") }
        served, waiting = Array.new(250) { server.connect }.partition { |caller| answered?(caller) }
        assert_operator(served.size, :>, 130)
        refute_empty(waiting, "they wait in the kernel")
        # The connections have 210; the server itself may open a few that it had no need of before. A refused one ends later.
        wait_until { server.tell[:files] - before <= 214 }
        assert_equal([200, 0], [served.first.send(FILE).hear.status, server.tell[:exhausted]])
        assert_equal("a", Caller.new(secure.first).send(ECHO).hear.body)
        [*secure, *served].each(&:close)
        waiting.each { |caller| assert_equal(200, caller.hear.status) && caller.close }
      end
    end

    define_method(:"test_the_app_has_descriptors_left_among_streams_on_#{mechanism}") do
      among_few_descriptors(mechanism) do |server|
        plain = answered(server.connect)
        streams = (0...120).map { |number| request((number * 2) + 1, POST, last: false) }.join
        raw = RawConnection.new(secure(server.tls_port)).write(hello + streams + ping)
        assert_equal(:refused_stream, raw.next(RST_STREAM).error)
        raw.next(PING)
        assert_equal(200, plain.send(FILE).hear.status)
        plain.close
      end
    end
  end

  private

  def among_few_descriptors(mechanism, &block)
    with_certificate { |files| LoneServer.run(mechanism, quiet: true, files: 240, **files, &block) }
  end

  # One after another, as long as they are let in: of many at once a busy machine has not done with those that are let in when
  # the server is full, and ends them.
  # @return [Array(Array<Thread>, Array<Thread>)] those who are let in, and those who wait
  def callers_over_tls(server, count)
    callers = []
    patience = 20 # as in answered?
    served = Array.new(count) do
      callers << caller = Thread.new { secure(server.tls_port, "http/1.1") }
      caller.join(patience) || (patience = 0.01).then { nil }
    end.compact
    [served, callers - served]
  end

  # Who is there already is served.
  def answered(caller) = caller.tap(&:get)

  def with_certificate
    Dir.mktmpdir do |folder|
      leaf = Certificates::Authority.new.issue("IP:127.0.0.1")
      yield({ cert: leaf.certificate, key: leaf.key }.to_h do |name, thing|
        [name, File.join(folder, "#{name}.pem").tap { |path| File.write(path, thing.to_pem) }]
      end)
    end
  end

  def secure(port, protocol = "h2")
    context = OpenSSL::SSL::SSLContext.new
    context.alpn_protocols = [protocol]
    OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", port), context).tap { |socket| socket.sync_close = true }.connect
  end

  def with_server(mechanism, fewer = nil)
    LoneServer.run(mechanism, connections: 10_000, **{ fewer: fewer }.compact) do |server|
      @lone = server
      yield
    end
  end

  def tell = @lone.tell

  def connect = @lone.connect

  # Whoever is not accepted hears nothing: as long as that, nobody else is slow.
  def answered?(caller)
    caller.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    @patience ||= 20
    heard = caller.socket.wait_readable(@patience)
    caller.hear if heard
    @patience = 0.01 unless heard
    heard
  end

  # It is not asked again and again whether there is a descriptor.
  def assert_idle
    before = tell[:cpu]
    sleep(0.3)
    assert_operator(tell[:cpu] - before, :<, 0.15, "seconds of CPU of 0.3")
  end

  # A part of them ends by a reset, a part in the middle of a request.
  def short_connections(count)
    count.times do |number|
      caller = connect.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n#{"hello"[0, number % 7]}")
      caller.hear if number % 7 >= 5
      caller.socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii")) if number.odd?
      caller.close
    end
  end
end
