# frozen_string_literal: true

# It measures time:
# bin/test: alone

require "test_helper"
require "support/scheduler_cases"
require "support/fresh_ruby"
require "net/http"
require "open3"
require "openssl"
require "pty"
require "timeout"

# Unmodified blocking Ruby waits together under the scheduler: ten calls of 0.1 s take about 0.1 s, and nobody else is
# kept waiting meanwhile.
class SchedulerWaitsTest < Minitest::Test
  include SchedulerCases
  include SchedulerCases::Together

  def test_sleep = assert_together { sleep(ONE) }

  # --- Descriptors

  def test_tcp_sockets
    with_server(TCPServer.new("127.0.0.1", 0)) do |address|
      assert_together(value: "hello\n") { ask(TCPSocket.new("127.0.0.1", address.ip_port)) }
    end
  end

  # Twenty are ready at once, each with 5 ms of work: others come in between, not after all of them.
  def test_many_that_are_ready_at_once
    turns = nil
    in_fiber do
      pipes = Array.new(20) { IO.pipe }
      left = pipes.size
      pipes.map(&:first).each do |reader|
        Fiber.schedule do
          reader.read(1)
          work(0.005)
          left -= 1
        end
      end
      sleep(0.01)
      pipes.map(&:last).each { |writer| writer.write("x") }
      turns = 0
      (turns += 1) && sleep(0.001) while left.positive?
      pipes.flatten.each(&:close)
    end
    assert_operator(turns, :>, 5)
  end

  def work(seconds)
    until_then = SchedulerCases.now + seconds
    nil while SchedulerCases.now < until_then
  end

  def test_unix_sockets
    Dir.mktmpdir do |folder|
      path = File.join(folder, "s")
      with_server(UNIXServer.new(path)) { assert_together(value: "hello\n") { ask(UNIXSocket.new(path)) } }
    end
  end

  def test_tls_sockets
    server = OpenSSL::SSL::SSLServer.new(TCPServer.new("127.0.0.1", 0), tls_context)
    with_server(server) do |address|
      assert_together(value: "hello\n") do
        socket = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", address.ip_port))
        socket.sync_close = true
        ask(socket.connect)
      end
    end
  end

  def test_accept
    servers = Array.new(CALLS) { TCPServer.new("127.0.0.1", 0) }
    setup = lambda do |index|
      later { TCPSocket.new("127.0.0.1", servers[index].local_address.ip_port).close }
      servers[index]
    end
    assert_together(setup: setup, value: nil) { |server| server.accept.close }
  ensure
    servers.each(&:close)
  end

  def test_udp_sockets
    assert_together(setup: ->(_) { udp_that_gets("x") }, teardown: :close, value: "x") { |socket| socket.recvfrom(1).first }
  end

  def test_net_http
    with_server(TCPServer.new("127.0.0.1", 0), http: true) do |address|
      uri = URI("http://127.0.0.1:#{address.ip_port}/")
      assert_together(value: "hello") { Net::HTTP.get(uri) }
    end
  end

  def test_net_http_with_its_timeouts
    with_server(TCPServer.new("127.0.0.1", 0), http: true) do |address|
      assert_together(value: "hello") do
        Net::HTTP.start("127.0.0.1", address.ip_port, open_timeout: 60, read_timeout: 60) { |http| http.get("/").body }
      end
    end
  end

  def test_pipes = assert_together(setup: pipe, teardown: :close, value: "x", &:read)

  def test_pipes_in_blocking_mode = assert_together(setup: pipe(nonblock: false), teardown: :close, value: "x", &:read)

  def test_readpartial_getc_gets_each_line_and_read_into_a_buffer
    %i[getc gets readline readchar].each { |name| assert_together(setup: pipe, teardown: :close, value: "x", &name) }
    assert_together(setup: pipe, teardown: :close, value: ["x"]) { |reader| reader.each_line.to_a }
    assert_together(setup: pipe, teardown: :close, value: "x") { |reader| reader.readpartial(100, +"") }
    assert_together(setup: pipe, teardown: :close, value: "x") { |reader| reader.sysread(1) }
  end

  def test_a_write_into_a_full_pipe
    assert_together(setup: full_pipe, teardown: ->(pipe) { pipe.each(&:close) }, value: 4) { |(_, writer)| writer.write("more") }
  end

  def test_wait_readable_and_wait_writable
    assert_together(setup: pipe, teardown: :close) { |reader| reader.wait_readable(60) }
    assert_together(setup: pipe, teardown: :close) { |reader| reader.wait(IO::READABLE, 60) }
    close = ->(pipe) { pipe.each(&:close) }
    assert_together(setup: silent_pipe, teardown: close, value: nil) { |(reader, _)| reader.wait_readable(ONE) }
    assert_together(setup: full_pipe, teardown: close) { |(_, writer)| writer.wait_writable(5) }
  end

  def test_io_select
    check = ->(reader, select) { select.call([reader], nil, nil, 5)&.first == [reader] }
    [IO.method(:select), Kernel.method(:select), method(:select)].each do |select|
      assert_together(setup: pipe, teardown: :close, value: true) { |reader| check.call(reader, select) }
    end
  end

  def test_io_select_that_times_out
    assert_together(setup: silent_pipe, teardown: ->(pipe) { pipe.each(&:close) }, value: nil) do |(reader, _)|
      IO.select([reader], nil, nil, ONE)
    end
    assert_together(value: nil) { IO.select(nil, nil, nil, ONE) }
  end

  def test_copy_stream
    assert_together(setup: pipe, teardown: :close, value: 1) { |reader| IO.copy_stream(reader, File::NULL) }
  end

  def test_opening_a_fifo_to_read
    with_fifos do |paths|
      setup = lambda do |index|
        later { File.write(paths[index], "x") }
        paths[index]
      end
      assert_together(setup: setup, value: "x") { |path| File.read(path) }
      assert_together(setup: setup, value: "x") { |path| File.open(path, &:read) }
      assert_together(setup: setup, value: "x") { |path| open(path, &:read) } # rubocop:disable Security/Open
    end
  end

  def test_opening_a_fifo_to_write
    with_fifos do |paths|
      setup = lambda do |index|
        later { File.read(paths[index]) }
        paths[index]
      end
      assert_together(setup: setup, value: 1) { |path| File.open(path, "w") { |file| file.write("x") } }
      assert_together(setup: setup, value: 1) { |path| File.write(path, "x") }
    end
  end

  def test_reading_a_fifo_that_is_open
    with_fifos do |paths|
      setup = lambda do |index|
        file = File.open(paths[index], "r+")
        later { file.syswrite("x\n") }
        file
      end
      assert_together(setup: setup, teardown: :close, value: "x\n", &:gets)
    end
  end

  def test_a_terminal
    setup = lambda do |_|
      PTY.open.tap { |_, terminal| later { terminal.write("x\n") } }
    end
    assert_together(setup: setup, teardown: ->(pair) { pair.each(&:close) }, value: "x\r\n") { |(master, _)| master.gets }
  end

  def test_the_timeout_of_an_io
    setup = ->(_) { IO.pipe.each { |io| io.timeout = ONE } }
    assert_together(setup: setup, teardown: ->(pipe) { pipe.each(&:close) }, value: IO::TimeoutError) do |(reader, _)|
      reader.read(1)
    rescue IO::TimeoutError => e
      e.class
    end
  end

  # In blocking mode, as a program's own standard input is.
  def test_standard_input
    code = <<~RUBY
      require "plait/mechanisms/scheduler"
      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Fiber.set_scheduler(Plait::Scheduler.new)
      ticks = 0
      Fiber.schedule { $stdin.gets.then { |line| puts(line, ticks) } }
      Fiber.schedule { 1000.times { sleep(0.002); break if (ticks += 1) == 20 } ; File.open(ARGV.first, "w") { |f| f.write("x") } }
    RUBY
    result = nil
    Dir.mktmpdir do |folder|
      sign = File.join(folder, "sign")
      IO.pipe do |reader, writer|
        later(0) do
          wait_until { File.exist?(sign) }
          writer.puts("hello")
        end
        result = IO.popen([RbConfig.ruby, *Support::FLAGS, "-e", code, sign, { in: reader }], &:read)
      end
    end
    assert_equal("hello\n20\n", result)
  end

  # Ruby writes the line and its end one after the other, and waits in between.
  def test_lines_stay_whole
    code = <<~RUBY
      require "plait/mechanisms/scheduler"
      Fiber.set_scheduler(Plait::Scheduler.new)
      10.times { |one| Fiber.schedule { 100.times { |count| puts("\#{one} \#{count}").then { sleep(0) } } } }
    RUBY
    lines = Array.new(10) { |one| Array.new(100) { |count| "#{one} #{count}\n" } }.flatten.sort
    command = [RbConfig.ruby, *Support::FLAGS, "-e", "$stdout.sync = true; #{code}"]
    assert_equal(lines, IO.popen(command, &:readlines).sort)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "out")
      assert(system(*command, out: path))
      assert_equal(lines, File.readlines(path).sort)
    end
  end

  # --- Processes

  def test_popen = assert_processes_together(value: "x\n") { IO.popen(["sh", "-c", "sleep #{ONE}; echo x"], &:read) }

  def test_process_wait
    assert_processes_together(value: 3) do
      Process.wait(spawn("sleep #{ONE}; exit 3"))
      Process.last_status.exitstatus
    end
    assert_processes_together(value: 3) { Process.wait2(spawn("sleep #{ONE}; exit 3")).last.exitstatus }
    assert_processes_together(value: 3) { Process.detach(spawn("sleep #{ONE}; exit 3")).value.exitstatus }
  end

  def test_process_wait_without_a_free_descriptor
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule do
        pid = spawn("sleep 0.5; exit 3")
        Process.setrlimit(:NOFILE, 64)
        files = []
        begin
          loop { files << File.open(File::NULL) }
        rescue Errno::EMFILE
          print Process.wait2(pid).last.exitstatus
        end
      end
    RUBY
    assert_equal(["3", ""], [result.out, result.err])
  end

  def test_system_and_backticks
    assert_processes_together(value: true) { system("sleep #{ONE}") }
    assert_processes_together(value: "x\n") { `sleep #{ONE}; echo x` }
  end

  def test_open3
    assert_processes_together(value: %W[input oops\n] << true) do
      out, err, status = Open3.capture3("sleep #{ONE}; cat; echo oops >&2", stdin_data: "input")
      [out, err, status.success?]
    end
  end

  # --- Threads and fibers

  def test_queue
    setup = ->(_) { Queue.new.tap { |queue| later { queue << :x } } }
    assert_together(setup: setup, value: :x, &:pop)
  end

  def test_sized_queue
    setup = ->(_) { SizedQueue.new(1).push(:first).tap { |queue| later { queue.pop } } }
    assert_together(setup: setup) { |queue| queue.push(:second) }
  end

  def test_mutex
    setup = lambda do |_|
      Mutex.new.tap { |mutex| hold(mutex) }
    end
    assert_together(setup: setup, value: :mine) { |mutex| mutex.synchronize { :mine } }
  end

  def test_condition_variable
    [nil, 5].each do |limit|
      assert_together(setup: ->(_) { signalled_later }, value: true) { |signal| signal.wait(limit) }
    end
    assert_together { Mutex.new.then { |m| m.synchronize { ConditionVariable.new.wait(m, ONE) } } }
  end

  def test_monitor
    assert_together do
      monitor = Monitor.new
      monitor.synchronize { monitor.new_cond.wait(ONE) }
    end
  end

  def test_thread_join_and_value
    assert_together(setup: ->(_) { later { :x } }, value: :x, &:value)
    assert_together(setup: ->(_) { later { :x } }, &:join)
    assert_together(setup: ->(_) { later { :x } }) { |thread| thread.join(60) }
  end

  def test_thread_join_that_times_out
    forever = Thread.new { sleep }
    assert_together(value: nil) { forever.join(ONE) }
  ensure
    forever.kill.join
  end

  def test_timeout
    assert_together(value: Timeout::Error) do
      Timeout.timeout(ONE) { sleep }
    rescue Timeout::Error => e
      e.class
    end
  end

  def test_timeouts_in_one_another
    assert_together(value: "outer") do
      Timeout.timeout(ONE, nil, "outer") { Timeout.timeout(60, nil, "inner") { sleep } }
    rescue Timeout::Error => e
      e.message
    end
  end

  def test_file_locks
    Dir.mktmpdir do |folder|
      setup = lambda do |index|
        path = File.join(folder, index.to_s)
        later_unlocked(File.open(path, "w"))
        File.open(path)
      end
      assert_together(setup: setup, teardown: :close, value: 0) { |file| file.flock(File::LOCK_EX) }
    end
  end

  # --- Names

  def test_names
    with_server(TCPServer.new("127.0.0.1", 0)) do |address|
      assert_together(value: "hello\n") { ask(TCPSocket.new("localhost", address.ip_port)) }
    end
  end

  # A library in front of getaddrinfo(3) makes each look-up take 0.1 s.
  def test_a_slow_resolver
    library = slow_resolver
    %w[Addrinfo.getaddrinfo("localhost",80).any? TCPSocket.new("localhost",port).close.nil?
       Socket.tcp("localhost",port).close.nil? Addrinfo.tcp("localhost",port).ip?
       IPSocket.getaddress("localhost").empty?.!].each do |call|
      result = Support::FreshRuby.run(<<~RUBY, flags: ["-I#{Support::ROOT}/test"], env: { "LD_PRELOAD" => library })
        require "support/scheduler_cases"
        server = TCPServer.new("127.0.0.1", 0)
        port = server.local_address.ip_port
        best = SchedulerCases::TRIES.times do
          values, timing = SchedulerCases.measure([proc { #{call} }] * SchedulerCases::CALLS)
          abort("wrong: \#{values}") unless values.all?(true)
          break timing if timing.peak > 2 && timing.within?(SchedulerCases::TOGETHER, SchedulerCases::STALL)
          warn(timing)
        end
        exit(best.is_a?(SchedulerCases::Timing))
      RUBY
      assert_predicate(result, :success?, "#{call}: #{result.err}")
    end
  end

  private

  # A program is started with the GVL held, which no scheduler can change; how long it takes is the machine's affair.
  def assert_processes_together(**options, &call)
    assert_together(**options, cost: method(:cost_of_a_process), &call)
  end

  def cost_of_a_process
    Array.new(3) do
      started = now
      pid = spawn("true")
      (now - started).tap { Process.wait(pid) }
    end.max
  end

  def ask(socket)
    socket.puts("name")
    socket.read
  ensure
    socket&.close
  end

  # A process that answers each connection after 0.1 s.
  def with_server(server, http: false)
    pid = fork { serve(server, http ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" : "hello\n") }
    yield server.to_io.local_address
  ensure
    server.close
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  def serve(server, answer)
    loop do
      Thread.new(server.to_io.accept) do |socket|
        socket = OpenSSL::SSL::SSLSocket.new(socket, tls_context).tap { |s| s.sync_close = true }.accept if tls?(server)
        socket.gets
        sleep(ONE)
        socket.write(answer)
        socket.close
      end
    end
  ensure
    exit!
  end

  def tls?(server) = server.is_a?(OpenSSL::SSL::SSLServer)

  def tls_context
    @tls_context ||= OpenSSL::SSL::SSLContext.new.tap do |context|
      context.key = OpenSSL::PKey::EC.generate("prime256v1")
      context.cert = certificate(context.key)
    end
  end

  def certificate(key)
    OpenSSL::X509::Certificate.new.tap do |certificate|
      certificate.subject = certificate.issuer = OpenSSL::X509::Name.new([%w[CN localhost]])
      certificate.not_before = Time.now - 60
      certificate.not_after = Time.now + 3600
      certificate.public_key = key
      certificate.serial = 1
      certificate.sign(key, "SHA256")
    end
  end

  # Its writer says one thing and closes.
  def pipe(nonblock: true)
    lambda do |_|
      reader, writer = IO.pipe
      reader.nonblock = nonblock
      later do
        writer << "x"
        writer.close
      end
      reader
    end
  end

  def silent_pipe = ->(_) { IO.pipe }

  def full_pipe
    lambda do |_|
      reader, writer = IO.pipe
      nil while writer.write_nonblock("x" * 4096, exception: false).is_a?(Integer)
      later { reader.readpartial(65_536) }
      [reader, writer]
    end
  end

  def udp_that_gets(text)
    UDPSocket.new.tap do |socket|
      socket.bind("127.0.0.1", 0)
      later { UDPSocket.new.tap { |peer| peer.send(text, 0, "127.0.0.1", socket.local_address.ip_port) }.close }
    end
  end

  def with_fifos
    Dir.mktmpdir do |folder|
      paths = Array.new(CALLS) { |index| File.join(folder, index.to_s) }
      paths.each { |path| File.mkfifo(path) }
      yield paths
    end
  end

  # Locked by another thread for 0.1 s.
  def hold(mutex)
    held = Queue.new
    later(0) do
      mutex.synchronize do
        held << true
        sleep(ONE)
      end
    end
    held.pop
  end

  # Something that becomes true after 0.1 s.
  class Signal
    def initialize
      @mutex = Mutex.new
      @changed = ConditionVariable.new
    end

    def give
      @mutex.synchronize do
        @given = true
        @changed.signal
      end
    end

    def wait(limit)
      @mutex.synchronize { @changed.wait(@mutex, limit) until @given }
      @given
    end
  end

  def signalled_later = Signal.new.tap { |signal| later { signal.give } }

  def later_unlocked(file)
    file.flock(File::LOCK_EX)
    later { file.close }
  end

  def slow_resolver
    source = <<~C
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <netdb.h>
      #include <string.h>
      #include <unistd.h>
      int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
          int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
          if (node && strcmp(node, "localhost") == 0 && !(hints && hints->ai_flags & AI_NUMERICHOST)) usleep(100000);
          return next(node, service, hints, result);
      }
    C
    folder = Dir.mktmpdir
    Minitest.after_run { FileUtils.rm_rf(folder) }
    library = File.join(folder, "slow_resolver.so")
    compiler = RbConfig::CONFIG["CC"]
    _, err, status = Open3.capture3("#{compiler} -shared -fPIC -x c -o #{library} - -ldl", stdin_data: source)
    skip("#{compiler} can't make a library to preload: #{err}") unless status.success?
    library
  end
end
