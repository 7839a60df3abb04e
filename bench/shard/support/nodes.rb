# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"
require_relative "../../harness/processors"

module Bench
  module Shard
    # Several redis-servers of our own, on free ports of the loopback and one processor. They end with the process that started
    # them, even where that is killed.
    class Nodes
      # They could not be started.
      class StartError < StandardError; end

      VARIABLE = "PLAIT_BENCH_SHARD_PORTS"
      START_SECONDS = 10
      # Waits for the end of its standard input, which is ours: what is left of us when we are killed.
      KEEPER = '"$@" & pid=$!; read line; kill $pid; wait $pid'

      # @return [Array<Integer>] the published ones, in a contestant's process
      def self.ports = ENV.fetch(VARIABLE).split.map { |port| Integer(port) }

      # @yieldparam nodes [Nodes]
      # @raise [StartError]
      def self.open(count)
        Dir.mktmpdir("plait-bench-shard") do |folder|
          nodes = new(folder, count)
          yield nodes.start
        ensure
          nodes&.stop
        end
      end

      # @return [Integer]
      def self.free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

      # @param port [Integer]
      # @param seconds [Numeric]
      # @return [Boolean] whether somebody listens there within that time
      def self.listening?(port, seconds = START_SECONDS)
        ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
        TCPSocket.new("127.0.0.1", port).close
        true
      rescue SystemCallError
        return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends

        sleep(0.01)
        retry
      end

      def initialize(folder, count)
        @folder = folder
        @ports = Array.new(count) { Nodes.free_port }
        @keepers = []
      end

      # @return [self]
      # @raise [StartError]
      def start
        @ports.each { |port| run(port) }
        silent = @ports.find { |port| !Nodes.listening?(port) }
        raise StartError, "redis-server is needed: sudo apt-get install -y redis-server" if silent

        self
      end

      # For the contestants, which are processes of their own.
      def publish = ENV[VARIABLE] = @ports.join(" ")

      # Waits for their end.
      def stop = @keepers.each(&:close)

      private

      def run(port)
        command = ["redis-server", "--port", port.to_s, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                   "--dir", @folder, "--logfile", File.join(@folder, "log")]
        @keepers << IO.popen([*Harness::Processors.for_origin, "sh", "-c", KEEPER, "sh", *command,
                              { pgroup: true, err: File::NULL }], "r+")
      end
    end
  end
end
