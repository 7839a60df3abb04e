# frozen_string_literal: true

require "rbconfig"
require_relative "../test_helper"

# A program that serves on two processes, in a group of its own, as from a terminal.
class ServedProgram
  CODE = <<~RUBY
    require "plait"
    class Calculator
      def add(a, b) = a + b
    end
    server = Plait::RPC::Server.new(Calculator.new, on: :processes, workers: 2)
    endpoint = server.listen("127.0.0.1", 0)
    trap(:TERM) { server.stop(within: 5) }
    Thread.new do
      sleep(0.01) until server.workers.size == 2
      puts [endpoint.port, *server.workers].join(" ")
      $stdout.flush
    end
    begin
      server.run
    rescue Interrupt
      exit(130)
    end
  RUBY

  # @return [Integer]
  attr_reader :pid, :port

  def self.start = new.tap(&:start)

  def start
    @said, theirs = IO.pipe
    @pid = Process.spawn(RbConfig.ruby, "-I#{Support::ROOT}/lib", "-e", CODE, out: theirs, err: File::NULL, pgroup: true)
    theirs.close
    @port, *@workers = @said.gets.split.map(&:to_i)
  end

  # @return [Array<Integer>] processes of it that are there
  def left
    @status ||= Process.wait(@pid, Process::WNOHANG)
    [*(@pid unless @status), *@workers.select { |pid| alive?(pid) }]
  end

  def stop
    Process.kill("-KILL", @pid)
  rescue Errno::ESRCH
    nil
  ensure
    @status ||= Process.wait(@pid)
    @said.close
  end

  private

  # One that nobody has waited for yet is dead all the same.
  def alive?(pid)
    !File.read("/proc/#{pid}/stat").match?(/\) Z /)
  rescue Errno::ENOENT, Errno::ESRCH
    false
  end
end
