# frozen_string_literal: true

require "test_helper"
require "support/certificates"
require "support/io_cases"
require "plait/io/tls"
require "tmpdir"

class IoListenerTest < Minitest::Test
  Io = Plait.const_get(:Io)
  include IoCases

  Endpoint = Io::Endpoint
  Listener = Io::Listener
  LOCAL = Endpoint.parse("tcp://127.0.0.1:0")

  everywhere("accepts until it is closed") do |mechanism|
    listener = Listener.open(LOCAL)
    served = Queue.new
    loop_ = mechanism.beside { listener.each { |socket| (served << socket.getsockopt(:TCP, :NODELAY).bool) && socket.close } }
    3.times { Socket.tcp("127.0.0.1", listener.endpoint.port, &:read) }
    took = stopwatch do
      listener.close
      loop_.call
    end
    assert_operator(took, :<, 60)
    assert_equal([true] * 3, Array.new(3) { served.pop })
    assert_predicate(listener.io, :closed?)
    3.times { listener.close }
    assert_nil(accept(listener))
  end

  everywhere("stop leaves the socket to others") do |mechanism|
    listener = Listener.open(LOCAL)
    loop_ = mechanism.beside { listener.each(&:close) }
    mechanism.beside { listener.stop }.call
    loop_.call
    Socket.tcp("127.0.0.1", listener.endpoint.port).close # into the backlog
    refute_predicate(listener.io, :closed?)
  ensure
    listener.close
  end

  everywhere("a stream of an accepted socket") do
    listener = Listener.open(LOCAL)
    client = Socket.tcp("127.0.0.1", listener.endpoint.port)
    stream = listener.stream(accept(listener))
    client.write("hi")
    assert_equal("hi", stream.read_exactly(2, deadline: within(60)))
    assert_equal("tcp://127.0.0.1:#{client.local_address.ip_port}", stream.endpoint.to_s)
  ensure
    [stream, client, listener].compact.each(&:close)
  end

  def test_one_that_gets_no_pipe_is_closed_all_the_same
    listener = Listener.open(LOCAL)
    listener.define_singleton_method(:open_wake) { raise Errno::EMFILE }
    assert_raises(Errno::EMFILE) { listener.each(&:close) }
    listener.close
    assert_predicate(listener.io, :closed?)
  end

  # An IO that two close at once raises Errno::EBADF now and then.
  def test_one_that_two_close_is_closed_by_one
    listener = Listener.open(LOCAL)
    inside = most = 0
    listener.io.define_singleton_method(:close) do
      most = [most, inside += 1].max
      sleep(0.05)
      inside -= 1
      super()
    end
    Array.new(2) { Thread.new { listener.close } }.each(&:join)
    assert_equal([1, true], [most, listener.io.closed?])
  end

  def test_closed_from_a_signal_handler
    listener = Listener.open(LOCAL)
    old = trap(:USR2) { listener.close }
    thread = Thread.new { listener.each(&:close) }
    wait_until { thread.stop? }
    Process.kill(:USR2, Process.pid)
    assert(thread.join(60))
  ensure
    trap(:USR2, old || "DEFAULT")
  end

  def test_an_error_of_the_block_is_the_callers
    listener = Listener.open(LOCAL)
    client = Socket.tcp("127.0.0.1", listener.endpoint.port)
    assert_raises(Errno::ECONNRESET) do
      listener.each do |socket|
        socket.close
        raise Errno::ECONNRESET
      end
    end
  ensure
    [client, listener].compact.each(&:close)
  end

  # As accept(2) fails under load.
  everywhere("survives what concerns one connection, or passes", on: %i[threads fibers]) do |mechanism|
    listener = Listener.open(LOCAL)
    troubles = [Errno::ECONNABORTED, Errno::EPROTO, Errno::ENOBUFS]
    listener.define_singleton_method(:accept_now) { troubles.any? ? raise(troubles.shift) : super() }
    errors, served = [], Queue.new
    loop_ = mechanism.beside { listener.each(on_error: errors.method(:push)) { |socket| served << socket.close } }
    Socket.tcp("127.0.0.1", listener.endpoint.port, &:read)
    served.pop
    listener.close
    loop_.call
    assert_equal([Errno::ECONNABORTED, Errno::EPROTO, Errno::ENOBUFS], errors.map(&:class))
  end

  def test_survives_the_end_of_descriptors
    in_child do
      listener = Listener.open(LOCAL)
      Array.new(3) { Socket.tcp("127.0.0.1", listener.endpoint.port) }.each(&:close)
      errors, served = Queue.new, Queue.new
      thread = Thread.new { listener.each(on_error: ->(e) { errors << e }) { |s| served << s } }
      wait_until { served.size == 3 && thread.stop? }
      hoard = all_descriptors_but_one
      client = Socket.tcp("127.0.0.1", listener.endpoint.port)
      assert_kind_of(Errno::EMFILE, errors.pop)
      assert_equal(3, served.size)
      hoard.each(&:close)
      wait_until { served.size == 4 }
      client.close
      listener.close
      assert(thread.join(60))
    end
  end

  def test_a_folder_that_is_not_ours
    binding = Listener.const_get(:Binding).new(Endpoint.unix("/run/ours/s"), reuse_port: false, mode: nil)
    error = assert_raises(Plait::ListenError) { binding.telling { raise Errno::EACCES } }
    assert_match(/: this user may not write in that folder\z/, error.message)
    Dir.mktmpdir do |folder|
      UNIXServer.open("#{folder}/s") do
        theirs = Listener.const_get(:Binding).new(Endpoint.unix("#{folder}/s"), reuse_port: false, mode: nil)
        error = assert_raises(Plait::ListenError) { theirs.telling { raise Errno::EACCES } }
        assert_match(/: there is a socket of another user already\z/, error.message)
      end
    end
  end

  def test_a_port_in_use
    listener = Listener.open(LOCAL)
    error = assert_raises(Plait::ListenError) { Listener.open(listener.endpoint) }
    assert_match(/can't listen on #{listener.endpoint}: a process listens there already/, error.message)
    assert_raises(Plait::ListenError) { Listener.open(Endpoint.tcp("192.0.2.1", 0)) }
  ensure
    listener.close
  end

  def test_several_on_one_port
    first = Listener.open(LOCAL, reuse_port: true)
    second = Listener.open(first.endpoint, reuse_port: true)
    assert_equal(first.endpoint, second.endpoint)
  ensure
    [first, second].compact.each(&:close)
  end

  def test_the_backlog
    listener = Listener.open(LOCAL, backlog: 1_000_000)
    skip("no somaxconn here") unless File.exist?("/proc/sys/net/core/somaxconn")
    assert_equal(File.read("/proc/sys/net/core/somaxconn").to_i, listener.capped_backlog)
    small = Listener.open(LOCAL, backlog: 1)
    assert_nil(small.capped_backlog)
  ensure
    [listener, small].compact.each(&:close)
  end

  everywhere("a UNIX socket") do
    in_folder do |path|
      listener = Listener.open(Endpoint.unix(path), mode: 0o600)
      assert_equal("600", format("%o", File.stat(path).mode & 0o777))
      client = Socket.unix(path)
      accept(listener).close
      listener.close
      refute_path_exists(path)
    ensure
      client&.close
    end
  end

  def test_a_unix_socket_in_use_and_one_left_behind
    in_folder do |path|
      listener = Listener.open(Endpoint.unix(path))
      assert_raises(Plait::ListenError) { Listener.open(Endpoint.unix(path)) }
      assert_path_exists(path)
      listener.io.close # as a kill would
      Listener.open(Endpoint.unix(path)).close
      refute_path_exists(path)
      File.write(path, "no socket")
      assert_raises(Plait::ListenError) { Listener.open(Endpoint.unix(path)) }
      assert_equal("no socket", File.read(path))
    end
  end

  def test_only_its_maker_removes_the_file
    in_folder do |path|
      listener = Listener.open(Endpoint.unix(path))
      Process.wait(fork { listener.close && exit!(0) }) if Process.respond_to?(:fork)
      assert_path_exists(path)
      File.unlink(path)
      other = Listener.open(Endpoint.unix(path))
      listener.close
      assert_path_exists(path, "it was somebody else's by then")
      other.close
      refute_path_exists(path)
    end
  end

  def test_a_fork_accepts_from_the_same_socket
    skip("no fork here") unless Process.respond_to?(:fork)
    listener = Listener.open(LOCAL)
    thread = Thread.new { listener.each(&:close) }
    wait_until { thread.stop? }
    listener.stop
    thread.join
    pid = fork do
      listener.instance_variable_set(:@stopped, false)
      listener.each { |socket| answer(socket, ->(s) { s.write("child") }) && listener.close }
      exit!(0)
    end
    assert_equal("child", Socket.tcp("127.0.0.1", listener.endpoint.port, &:read))
    assert_predicate(Process.wait2(pid).last, :success?)
    refute_predicate(listener.io, :closed?)
  ensure
    listener.close
  end

  def test_a_file_that_is_no_socket_stays
    Dir.mktmpdir do |folder|
      File.write("#{folder}/app.sock", "precious")
      error = assert_raises(Plait::ListenError) { Listener.open(Endpoint.unix("#{folder}/app.sock")) }
      assert_match(/app\.sock: a file that is no socket is there\z/, error.message)
      assert_equal("precious", File.read("#{folder}/app.sock"))
    end
  end

  def test_inherited
    server = TCPServer.new("127.0.0.1", 0)
    code = <<~RUBY
      require "plait/io"
      env = { "LISTEN_FDS" => "1", "LISTEN_PID" => Process.pid.to_s }
      listener, = Plait.const_get(:Io)::Listener.from_environment(env)
      abort("left") unless env.empty? && listener.io.close_on_exec?
      listener.each do |socket|
        socket.write(listener.endpoint.to_s)
        break socket.close
      end
    RUBY
    pid = spawn(RbConfig.ruby, *Support::FLAGS, "-e", code, 3 => server.fileno)
    assert_equal("tcp://127.0.0.1:#{server.addr[1]}", TCPSocket.open("127.0.0.1", server.addr[1], &:read))
  ensure
    Process.wait(pid) if pid
    server.close
  end

  def test_nothing_to_inherit
    assert_empty(Listener.from_environment({}))
    assert_empty(Listener.from_environment({ "LISTEN_FDS" => "1", "LISTEN_PID" => "1" }))
    error = assert_raises(Plait::ListenError) { Listener::Inheritance.socket(987) }
    assert_match(/descriptor 987 of LISTEN_FDS is no socket/, error.message)
    %w[some -3 1x].each do |count|
      env = { "LISTEN_FDS" => count, "LISTEN_PID" => Process.pid.to_s }
      error = assert_raises(Plait::ListenError) { Listener.from_environment(env) }
      assert_equal("LISTEN_FDS is how many sockets there are, not #{count.inspect}", error.message)
    end
    idle = Socket.new(:INET, :STREAM)
    assert_raises(Plait::ListenError) { Listener::Inheritance.socket(idle.fileno) }
  ensure
    idle&.close
  end

  def test_tls
    authority = Certificates::Authority.new
    server = Io::TLS::Server.new(**authority.issue("DNS:localhost").to_h)
    listener = Listener.open(Endpoint.tls("127.0.0.1", 0), tls: server)
    thread = Thread.new do
      listener.stream(accept(listener), deadline: within(60)).tap { |s| s.write("hi") }.close
    end
    client = Io::Connector.new(tls: Io::TLS::Client.new(cert_store: authority.store))
    stream = stream_to(Endpoint.tls("localhost", listener.endpoint.port), client, deadline: within(60))
    assert_equal("hi", stream.read_exactly(2, deadline: within(60)))
    assert_equal(:tls, listener.endpoint.scheme)
    assert_raises(Plait::UsageError) { Listener.open(Endpoint.tls("127.0.0.1", 0)) }
  ensure
    thread&.join
    [stream, listener].compact.each(&:close)
  end

  def test_leaves_nothing_behind
    assert_no_leaks do
      listener = Listener.open(LOCAL)
      thread = Thread.new { listener.each(&:close) }
      Socket.tcp("127.0.0.1", listener.endpoint.port, &:read)
      listener.close
      thread.join
    end
  end

  private

  # @return [Socket, nil] nil of a listener that was closed
  def accept(listener)
    listener.each { |socket| return socket }
    nil
  end

  # What is garbage holds descriptors, too, and must not give them back just now. There is more than the one to hoard even
  # where no number below the highest is free.
  def all_descriptors_but_one
    GC.start
    GC.disable
    Process.setrlimit(:NOFILE, Dir.children("/proc/self/fd").map(&:to_i).max + 4)
    hoard = []
    loop { hoard << File.open(File::NULL) }
  rescue Errno::EMFILE
    hoard.pop.close
    hoard
  end

  def in_folder
    Dir.mktmpdir("plait-test-") { |folder| yield(File.join(folder, "s")) }
  end

  # Its limits are its own.
  def in_child
    skip("no fork here") unless Process.respond_to?(:fork)
    pid = fork do
      yield
      exit!(0)
    rescue Exception => e
      warn(e.full_message)
      exit!(1)
    end
    assert_predicate(Process.wait2(pid).last, :success?)
  end
end
