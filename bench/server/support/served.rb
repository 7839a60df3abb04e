# frozen_string_literal: true

require "etc"
require "net/http"
require "rbconfig"
require "socket"
require_relative "../../harness/meter"

module Bench
  module Server
    # A server in a process of its own.
    class Served
      # Seconds.
      START = 30
      PATIENCE = 5
      # Seconds within which it needs no processor before it counts as at rest, and after which nobody waits for that.
      REST = 0.05
      UNREST = 3
      # Of /proc in a second.
      TICKS = Etc.sysconf(Etc::SC_CLK_TCK).to_f

      # @return [Integer]
      attr_reader :port

      # @param command [Array<String>] is given the port
      # @param environment [Hash{String => String}] for TLS see {Certificate}
      def initialize(*command, environment: {})
        @tls = environment.any?
        @port = Addrinfo.tcp("127.0.0.1", 0).bind { |socket| socket.local_address.ip_port }
        files = { in: File::NULL, out: File::NULL, err: :err }
        @pid = Process.spawn(environment, *command, @port.to_s, **files, rlimit_nofile: Process.getrlimit(:NOFILE).last)
      end

      # @return [String] the body of an answer, once there is one
      def answer
        give_up = now + START
        begin
          get
        rescue SystemCallError, EOFError, Timeout::Error
          raise "the server did not start" if now > give_up || !alive?

          sleep(0.02)
          retry
        end
      end

      # Waits until it has done what the last load has left behind: that is not the next one's.
      def settle
        give_up = now + UNREST
        before = nil
        until cpu == before || now > give_up
          before = cpu
          sleep(REST)
        end
      end

      # @return [Boolean]
      def alive? = !@dead && !(@dead = !Process.wait(@pid, Process::WNOHANG).nil?)

      # By a clock of nanoseconds: /proc has hundredths of a second.
      # @return [Float] seconds of processor time, of it and of the processes it has started
      def cpu = processes.sum { |pid| Harness::Processes.cpu(pid) }

      # By /proc, in hundredths of a second.
      # @return [Float] seconds of it that are not the kernel's
      def user = processes.sum { |pid| Integer(File.read("/proc/#{pid}/stat")[/\) (?:\S+ ){11}(\d+)/, 1]) / TICKS }

      # @return [Integer] bytes resident
      def memory = processes.sum { |pid| Harness::Processes.resident(pid).to_i }

      # @return [Integer] open files and sockets
      def descriptors = processes.sum { |pid| Dir.children("/proc/#{pid}/fd").size }

      # @return [Integer] bytes resident at the most so far
      def peak = processes.sum { |pid| Harness::Processes.peak(pid).to_i }

      # @param report [#requests, #p99, #errors] of a load generator
      # @param seconds [Numeric] that it has taken
      # @return [Hash{String => Numeric}] what the cases of all benches with a server tell
      def figures(report, seconds)
        { "requests_per_s" => report.requests / seconds.to_f, "p99_ms" => report.p99, "errors" => report.errors,
          "rss_mb" => memory / 1e6 }
      end

      # Ends it.
      def stop
        Process.kill(:KILL, *processes)
        Process.wait(@pid)
      rescue Errno::ESRCH, Errno::ECHILD, Errno::ENOENT
        nil # it has died
      end

      private

      def now = Harness::Meter.wall

      def get
        options = { open_timeout: PATIENCE, read_timeout: PATIENCE, use_ssl: @tls, verify_mode: OpenSSL::SSL::VERIFY_NONE }
        Net::HTTP.start("127.0.0.1", port, options) { |http| http.get("/").body }
      end

      def processes = [@pid, *Harness::Processes.descendants(@pid)]
    end
  end
end
