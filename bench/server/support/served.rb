# frozen_string_literal: true

require "etc"
require "net/http"
require "rbconfig"
require "socket"

module Bench
  module Server
    # A server in a process of its own.
    class Served
      TICK = 1.0 / Etc.sysconf(Etc::SC_CLK_TCK)
      # Seconds.
      START = 15

      # @return [Integer]
      attr_reader :port

      # @param command [Array<String>] is given the port
      def initialize(*command)
        @port = Addrinfo.tcp("127.0.0.1", 0).bind { |socket| socket.local_address.ip_port }
        files = { in: File::NULL, out: File::NULL, err: :err }
        @pid = Process.spawn(*command, @port.to_s, **files, rlimit_nofile: Process.getrlimit(:NOFILE).last)
      end

      # @return [String] the body of an answer, once there is one
      def answer
        give_up = Process.clock_gettime(Process::CLOCK_MONOTONIC) + START
        begin
          Net::HTTP.get(URI("http://127.0.0.1:#{port}/"))
        rescue SystemCallError
          raise "the server did not start" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up

          sleep(0.02)
          retry
        end
      end

      # @return [Boolean]
      def alive? = Process.wait(@pid, Process::WNOHANG).nil?

      # @return [Float] seconds of processor time, of it and of the processes it has started
      def cpu = processes.sum { |pid| ticks(File.read("/proc/#{pid}/stat")) } * TICK

      # @return [Float] MB resident
      def memory = processes.sum { |pid| File.read("/proc/#{pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i } * 1024 / 1e6

      # Ends it.
      def stop
        Process.kill(:KILL, *processes)
        Process.wait(@pid)
      rescue Errno::ESRCH, Errno::ECHILD, Errno::ENOENT
        nil # it has died
      end

      private

      # The process's name may have spaces.
      def ticks(stat) = stat.rpartition(") ").last.split.values_at(11, 12).sum(&:to_i)

      def processes = [@pid, *Dir["/proc/#{@pid}/task/*/children"].flat_map { |path| File.read(path).split.map(&:to_i) }]
    end
  end
end
