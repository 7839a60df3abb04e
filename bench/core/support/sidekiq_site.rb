# frozen_string_literal: true

require "rbconfig"
require "socket"
require "tmpdir"
require_relative "../../harness/meter"

module Bench
  module Core
    # A Redis and a process of Sidekiq of our own, on a free port, which end with the block.
    class SidekiqSite
      JOBS = File.expand_path("sidekiq_jobs.rb", __dir__)
      THREADS = 5
      SECONDS = 30

      # @param libraries [Array<String>] that the process of Sidekiq requires
      # @yieldparam site [SidekiqSite]
      def self.open(libraries)
        Dir.mktmpdir("plait-bench-sidekiq") do |folder|
          site = new(folder, libraries)
          yield site.start
        ensure
          site&.stop
        end
      end

      def initialize(folder, libraries)
        @folder = folder
        @libraries = libraries
        @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
      end

      # @return [self]
      def start
        ENV["REDIS_URL"] = "redis://127.0.0.1:#{@port}/0"
        @redis = run("redis-server", "--port", @port.to_s, "--bind", "127.0.0.1", "--save", "", "--dir", @folder)
        require JOBS
        ::Sidekiq.default_configuration.logger.level = Logger::ERROR
        wait_for { ::Sidekiq.redis { |redis| redis.call("PING") } }
        @worker = run(RbConfig.ruby, *$LOAD_PATH.map { |path| "-I#{path}" }, *@libraries.map { |name| "-r#{name}" }, program,
                      "-r", JOBS, "-c", THREADS.to_s)
        wait_for { ::Sidekiq.redis { |redis| redis.call("SCARD", "processes") }.positive? }
        self
      end

      def stop
        [@worker, @redis].compact.each do |pid|
          Process.kill(:TERM, pid)
          Process.wait(pid)
        end
      end

      # Times the block; warms up the caller and the process of Sidekiq before.
      # @param trial [Harness::Trial]
      # @yieldparam count [Integer] of items
      # @yieldreturn [Object] the result
      def measure(trial, count)
        yield(200)
        before = clocks
        result = yield(count)
        caller, worker, commands, wall = clocks.zip(before).map { |after, first| (after - first) / count }
        trial.report(operations: count, result: result, wall: wall * count,
                     figures: { "caller_us_per_item" => caller * 1e6, "worker_us_per_item" => worker * 1e6,
                                "commands_per_item" => commands, "items_per_second" => 1 / wall })
      end

      private

      def clocks
        meter = Harness::Meter
        commands = ::Sidekiq.redis { |redis| redis.call("INFO", "stats") }[/total_commands_processed:(\d+)/, 1].to_f
        [meter.cpu, Harness::Processes.cpu(@worker), commands, meter.wall]
      end

      def program = $LOAD_PATH.filter_map { |path| File.join(path, "../bin/sidekiq") }.find { |path| File.exist?(path) }

      def run(*command) = Process.spawn(*command, in: File::NULL, out: File::NULL, err: File.join(@folder, "errors"))

      def wait_for
        limit = Harness::Meter.wall + SECONDS
        begin
          return if yield
        rescue ::RedisClient::CannotConnectError
          nil
        end while sleep(0.02) && Harness::Meter.wall < limit # rubocop:disable Lint/Loop -- at least once
        raise "not ready in #{SECONDS} s: #{File.read(File.join(@folder, "errors"))}"
      end
    end
  end
end
