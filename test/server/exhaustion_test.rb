# frozen_string_literal: true

require "rbconfig"
require_relative "../test_helper"
require "plait/server"
require_relative "caller"
require_relative "../support/root"

# A server in a process of its own, with few descriptors, or under load that leaves nothing behind.
class ServerExhaustionTest < Minitest::Test
  PROGRAM = <<~RUBY
    require "plait"
    require "plait/server"
    memory = File.open("/proc/self/statm")
    Process.setrlimit(:NOFILE, Integer(ARGV[1])) if ARGV[1]
    app = ->(env) { [200, {}, [env["rack.input"].read]] }
    server = Plait::Server.new(app, on: ARGV[0].to_sym, bind: "tcp://127.0.0.1:0", connections: 10_000)
    thread = server.start
    puts(server.endpoints.first.port)
    $stdout.flush
    while $stdin.gets
      GC.start
      pages = memory.pread(100, 0).split[1]
      puts([server.statistics.fetch(:exhausted), Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID), pages].join(" "))
      $stdout.flush
    end
    server.stop(within: 0)
    thread.join
  RUBY

  %i[threads fibers].each do |mechanism|
    define_method(:"test_without_descriptors_on_#{mechanism}") do
      with_server(mechanism, 60) do
        callers = Array.new(100) { connect }
        served, waiting = callers.partition { |caller| answered?(caller) }
        assert_operator(served.size, :>, 20)
        refute_empty(waiting)
        assert_operator(tell.first, :>, 0, "it has met the limit")
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
        before = tell.last
        short_connections(1_000)
        assert_operator(tell.last - before, :<, 500, "pages of memory")
      end
    end
  end

  private

  def with_server(*arguments)
    command = [RbConfig.ruby, "-I#{Support::ROOT}/lib", "-e", PROGRAM, *arguments.map(&:to_s)]
    IO.popen(command, "r+") do |program|
      @program = program
      @port = Integer(program.gets)
      yield
      program.close_write
      program.read
    end
  end

  # @return [Array(Integer, Float, Integer)] how often there was no descriptor, seconds of CPU, pages of memory
  def tell
    @program.puts
    exhausted, cpu, pages = @program.gets.split
    [Integer(exhausted), Float(cpu), Integer(pages)]
  end

  def connect = Caller.new(TCPSocket.new("127.0.0.1", @port))

  # Whoever is not accepted hears nothing: as long as that, nobody else is slow.
  def answered?(caller)
    caller.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    @patience ||= 1
    heard = caller.socket.wait_readable(@patience)
    caller.hear if heard
    @patience = 0.01 unless heard
    heard
  end

  # It is not asked again and again whether there is a descriptor.
  def assert_idle
    before = tell[1]
    sleep(0.3)
    assert_operator(tell[1] - before, :<, 0.15, "seconds of CPU of 0.3")
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
