# frozen_string_literal: true

require "etc"
require "fileutils"
require "monitor"
require "socket"
require "tmpdir"
require "minitest"
require_relative "waiting"

module Support
  # A real server, started by a test on a free port of the loopback with its files in a temporary folder, and ended by
  # its pid. A subclass says what to run and when it answers.
  class Server
    class DidNotStart < StandardError; end

    START_TIMEOUT = 60
    STOP_TIMEOUT = 15
    # Between asking for a free port and using it somebody else may take it.
    ATTEMPTS = 3
    # Below those that the system gives to a socket that asks for any: on a slow machine another socket gets the port meanwhile.
    PORTS = (10_000...32_768)

    @running = []
    @lock = Monitor.new

    class << self
      # @return [Server] the one that all tests of this process share; started when first asked for, ended with it
      def shared
        Server.synchronize do
          Server.all.find do |s|
            s.instance_of?(self) && s.shared? && s.alive?
          end || start(shared: true)
        end
      end

      # Starts one, and ends it after the block if one is given.
      def start(*arguments, **options)
        server = new(*arguments, **options).start
        return server unless block_given?

        begin
          yield server
        ensure
          server.stop
        end
      end

      def all = Server.instance_variable_get(:@running)

      def synchronize(&block) = Server.instance_variable_get(:@lock).synchronize(&block)

      # @return [Array<Integer>]
      def pids = all.filter_map(&:pid)

      def stop_all = all.dup.each(&:stop)

      # By a generator of its own: several processes of tests have the same seed.
      def free_port
        TCPServer.open("127.0.0.1", Random.new.rand(PORTS)) { |socket| socket.addr[1] }
      rescue Errno::EADDRINUSE, Errno::EACCES
        retry
      end
    end

    attr_reader :port, :pid, :folder

    def initialize(shared: false)
      @shared = shared
      @owner = Process.pid
    end

    def host = "127.0.0.1"

    def shared? = @shared

    def start
      attempt ||= 1
      launch
      self
    rescue DidNotStart
      stop
      retry if (attempt += 1) <= ATTEMPTS
      raise
    end

    # Ends it and removes its files. In a fork it does nothing: the server is the parent's.
    def stop
      return unless @owner == Process.pid

      end_process
      FileUtils.rm_rf(@folder) if @folder
      @folder = nil
      Server.synchronize { Server.all.delete(self) }
    end

    # Ends it and starts it again, on the same port and with the same files.
    # @param signal [Symbol] :KILL: as if the machine had lost it
    # @yield while it is gone
    def restart(signal = :TERM)
      end_process(signal)
      Waiting.wait_until(timeout: STOP_TIMEOUT) { !listening? } # its children may take a little longer
      yield if block_given?
      run
      wait_until_ready
    end

    # @param name [Symbol] of a signal that means something to it
    def signal(name) = Process.kill(name, @pid)

    # As if the machine had lost it: no goodbye.
    def kill = end_process(:KILL)

    def alive?
      !@pid.nil? && Process.waitpid(@pid, Process::WNOHANG).nil?
    rescue Errno::ECHILD
      false
    end

    def log = File.exist?(log_path) ? File.read(log_path) : ""

    private

    # What a subclass says:
    def command = raise(NotImplementedError)
    def prepare = nil
    def ready? = raise(NotImplementedError)
    def environment = {}

    def launch
      @port = Server.free_port
      @folder = Dir.mktmpdir("plait-test-")
      Server.synchronize { Server.all << self }
      prepare
      run
      wait_until_ready
    end

    # In a process group of its own: the terminal's Ctrl-C reaches the test, which ends the server in its order.
    def run
      @pid = Process.spawn(environment, *command, in: File::NULL, %i[out err] => [log_path, "a"], chdir: @folder,
                                                  pgroup: true)
    end

    def log_path = File.join(@folder.to_s, "log")

    def wait_until_ready
      Waiting.wait_until(timeout: START_TIMEOUT) { !alive? || ready? }
      raise DidNotStart, "#{command.first} ended at once:\n#{log}" unless @pid && alive?
    rescue Minitest::Assertion
      raise DidNotStart, "#{command.first} did not answer within #{START_TIMEOUT} s:\n#{log}"
    end

    def end_process(signal = :TERM)
      return unless @pid

      deliver(signal)
      await_end
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    ensure
      @pid = nil
    end

    def await_end
      Waiting.wait_until(timeout: STOP_TIMEOUT) { Process.waitpid(@pid, Process::WNOHANG) }
    rescue Minitest::Assertion
      deliver(:KILL)
      Process.waitpid(@pid)
    end

    # A server that is killed can't end its own children; all are in its process group, see {run}.
    def deliver(signal) = Process.kill(signal == :KILL ? "-KILL" : signal, @pid)

    # A preparing command that has to succeed.
    def run!(*command)
      return if system(*command, in: File::NULL, %i[out err] => [log_path, "a"], chdir: @folder)

      raise DidNotStart, "#{command.join(" ")} failed:\n#{log}"
    end

    # @return [Boolean] whether somebody listens
    def listening?
      Socket.tcp(host, port, connect_timeout: 1).close
      true
    rescue SystemCallError
      false
    end

    def root? = Process.uid.zero?
  end
end

Minitest.after_run { Support::Server.stop_all }
