# frozen_string_literal: true

require "json"
require "rbconfig"
require "test_helper"

# A program that serves, in a process group of its own, as from a terminal.
class ServedProgram
  CODE = <<~RUBY
    require "json"
    require "plait"
    class Calculator
      def add(a, b) = a + b
      def big(bytes) = "x" * bytes
    end
    server = Plait::RPC::Server.new(Calculator.new, **JSON.parse(ARGV.first, symbolize_names: true).then { |o| o.merge(on: o[:on].to_sym) })
    endpoint = server.listen("127.0.0.1", 0)
    trap(:TERM) { server.stop(within: 5) }
    Thread.new do
      sleep(0.01) until server.statistics[:workers] && server.workers.size == ARGV.last.to_i
      puts [endpoint.port, *server.workers].join(" ")
      $stdout.flush
    end
    begin
      server.run
    rescue Interrupt
      exit(130)
    end
  RUBY

  # The collector comes round before there is much garbage, and what it frees goes back to the system: then what the process
  # holds is what it needs, and not what it happened to do.
  THRIFT = { "MALLOC_ARENA_MAX" => "2", "RUBY_GC_MALLOC_LIMIT" => "4000000", "RUBY_GC_MALLOC_LIMIT_MAX" => "4000000",
             "RUBY_GC_OLDMALLOC_LIMIT" => "4000000", "RUBY_GC_OLDMALLOC_LIMIT_MAX" => "4000000" }.freeze

  # @return [Integer]
  attr_reader :pid, :port

  # @param options [Hash] of the server; `workers` where it runs on processes
  def self.start(**options) = new(options).tap(&:start)

  def initialize(options)
    @options = options
  end

  def start
    @said, theirs = IO.pipe
    @pid = Process.spawn(THRIFT, RbConfig.ruby, *Support::FLAGS, "-e", CODE, @options.to_json,
                         @options.fetch(:workers, 0).to_s, out: theirs, err: File::NULL, pgroup: true)
    theirs.close
    @port, *@workers = @said.gets.split.map(&:to_i)
  end

  # @return [Array<Integer>] processes of it that are there
  def left
    @status ||= Process.wait(@pid, Process::WNOHANG)
    [*(@pid unless @status), *@workers.select { |pid| alive?(pid) }]
  end

  # @param field [String] "VmRSS": what it holds now, "VmHWM": the most that it ever held
  # @return [Integer] bytes
  def memory(field = "VmRSS") = File.read("/proc/#{@pid}/status")[/^#{field}:\s+(\d+) kB/, 1].to_i * 1024

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
