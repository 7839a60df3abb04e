# frozen_string_literal: true

require "io/wait"
require "support/sanitized"
require_relative "../shard/proxy/nodes"

# For what fuzzes the data plane: it is compiled under sanitizers, runs as a process of its own before some servers, and has to
# end well and silently. PLAIT_FUZZ_SECONDS=600 goes on for longer; PLAIT_SEED makes it the same again.
module ShardPlane
  include ShardNodes

  ASAN = Sanitized::FLAGS
  TSAN = ASAN.map { |flag| flag.sub("address,undefined", "thread") }.freeze
  PROGRAM = File.expand_path("../c/shard_program.c", __dir__)
  # Of the program: fewer than none say that the servers are a cluster.
  THREADS = 2
  CLUSTER_THREADS = -THREADS

  def seconds = self.class::SECONDS

  def hard_timeout = (seconds * 2) + 120 + Sanitized::BUILDING

  private

  # @param flags [Array<String>] of the compiler
  # @param servers [Array<#port>]
  # @param timeout [Numeric] seconds in which a server has to answer
  # @param threads [Integer]
  # @param tls [String, nil] folder of the certificate that clients are shown
  # @param instead [Array<String>] paths of files that stand for those of the plane with the same name
  # @yieldparam port [Integer] of the plane
  # @yieldparam plane [IO] to its standard input
  def with_plane(flags, servers, timeout: 10, threads: THREADS, tls: nil, instead: [], &block)
    environment = { "SHARD_TIMEOUT" => timeout.to_s, "SHARD_TLS" => tls }
    Sanitized.build(PROGRAM, %w[shard placement resp], flags: flags, instead: instead) do |program|
      run_plane([environment, program, threads.to_s, *servers.map { |server| server.port.to_s }], "#{program}.log", &block)
    end
  end

  def run_plane(command, log)
    IO.popen([*command, { err: log }], "r+") do |plane|
      yield(Integer(plane.gets), plane)
      plane.close_write
      plane.read
    end
    assert_predicate(Process.last_status, :success?, File.read(log))
    assert_empty(File.read(log))
  end

  # Clients that say a few of the commands at once, and perhaps only a part of the last; read some of what is answered; and go.
  # @yieldparam seen [String] of the answers
  # @return [Thread]
  def leaving(port, random, commands, &look)
    Thread.new { come_and_go(port, random, commands, &look) while going_on? }
  end

  def come_and_go(port, random, commands)
    TCPSocket.open("127.0.0.1", port) do |socket|
      random.rand(1..4).times do
        say_some(socket, random, commands)
        socket.wait_readable(random.rand * 0.02)
        seen = random.rand(3).zero? ? nil : socket.read_nonblock(1 << 16, exception: false)
        yield seen if seen.is_a?(String) && block_given?
      end
    end
  rescue SystemCallError
    nil
  end

  def say_some(socket, random, commands)
    bytes = Array.new(random.rand(1..6)) { commands.sample(random: random) }.map { |words| encode(*words) }.join
    size = random.rand(4).zero? ? random.rand(bytes.bytesize) : bytes.bytesize
    socket.write_nonblock(bytes.byteslice(0, size), exception: false)
  end

  # From the first time that it is asked.
  def going_on?
    @ends ||= now + seconds
    now < @ends
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
