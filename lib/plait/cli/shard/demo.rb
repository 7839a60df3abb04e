# frozen_string_literal: true

require "socket"
require "tmpdir"
require_relative "../../values/errors"
require_relative "../command"

module Plait
  module CLI
    class Shard < Command
      # redis-servers of our own, on free ports of the loopback, without persistence. They end with us, even where we are
      # killed.
      class Demo
        PROGRAMS = %w[redis-server valkey-server].freeze
        ADVICE = "no redis-server was found: sudo apt-get install redis-server (macOS: brew install redis), or name servers " \
                 "that are running with --nodes"
        SECONDS = 10
        # Waits for the end of its standard input, which is ours: what is left of us when we are killed.
        KEEPER = '"$@" & pid=$!; read line; kill $pid; wait $pid'

        # @param count [Integer]
        # @yieldparam nodes [Array<String>]
        # @raise [UnsupportedError] without redis-server, or when it does not start
        def self.open(count)
          Dir.mktmpdir("plait-shard") do |folder|
            demo = new(folder)
            yield(Array.new(count) { demo.start })
          ensure
            demo&.stop
          end
        end

        def initialize(folder)
          @folder = folder
          @program = find or raise UnsupportedError, ADVICE
          @keepers = []
        end

        # @return [String] "HOST:PORT"
        def start
          port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
          @keepers << IO.popen(["sh", "-c", KEEPER, "sh", *command(port), { pgroup: true, err: File::NULL }], "r+")
          return "127.0.0.1:#{port}" if listening?(port)

          raise UnsupportedError, "#{@program} does not answer on port #{port}: #{log(port)}"
        end

        # Waits for their end.
        def stop = @keepers.each(&:close)

        private

        def find
          ENV.fetch("PATH", "").split(":").product(PROGRAMS).map { |parts| File.join(*parts) }
             .find { |path| File.executable?(path) }
        end

        def command(port)
          [@program, "--port", port.to_s, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", @folder,
           "--logfile", log_path(port)]
        end

        def log_path(port) = File.join(@folder, "#{port}.log")

        def log(port) = File.exist?(log_path(port)) ? File.readlines(log_path(port)).last(3).join(" ").strip : "it says nothing"

        def listening?(port)
          ends = now + SECONDS
          TCPSocket.new("127.0.0.1", port).close
          true
        rescue SystemCallError
          return false if now > ends

          sleep(0.01)
          retry
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
