# frozen_string_literal: true

require "csv"
require "open3"
require "socket"
require_relative "../../harness/meter"
require_relative "../../harness/processors"

module Bench
  module Shard
    # redis-benchmark, on the processor of the nodes. Before it, a few commands whose replies have to be everybody's.
    class Load
      CLIENTS = 50
      WARM_UP = 0.05
      # Each server has all keys, whichever a proxy asks it for, and nothing of the cases before: an MGET of what these had left,
      # a third of it 32 KiB long, took ten times as long as one of 64 bytes.
      FILL = "redis.call('FLUSHALL') " \
             "for i = 0, ARGV[1] - 1 do redis.call('SET', string.format('key:%012d', i), ARGV[2]) end return 'filled'"

      # @param proxy [Contestants::Proxy]
      # @param words [Array<String>] see {Contest}
      def initialize(proxy, words:, pipeline:, value:, keys:)
        @proxy = proxy
        @words = words
        @pipeline = pipeline
        @value = value
        @keys = keys
      end

      # @param trial [Harness::Trial]
      def report(trial)
        replies = check
        requests = trial[:requests]
        fill if @value
        run((requests * WARM_UP).ceil)
        cpu = @proxy.cpu
        wall = Harness::Meter.wall
        told = run(requests)
        trial.report(operations: requests, result: replies, cpu: @proxy.cpu - cpu,
                     wall: Harness::Meter.wall - wall,
                     figures: { "p50_ms" => told.fetch("p50_latency_ms").to_f, "p99_ms" => told.fetch("p99_latency_ms").to_f,
                                "peak_mb" => @proxy.peak })
      end

      private

      # @return [String] what was answered, on one connection
      def check
        keys = Array.new(20) { |i| "check#{i}" }
        commands = [["MSET", *keys.flat_map { |key| [key, key * 100] }], ["MGET", *keys], ["DEL", *keys], ["MGET", *keys]]
        TCPSocket.open("127.0.0.1", @proxy.port) do |socket|
          socket.write(commands.map { |words| encode(words) }.join)
          socket.read(expected_size(keys)).sum(64).to_s
        end
      end

      # "+OK", an array of values, ":20", an array of nils.
      def expected_size(keys)
        values = keys.sum { |key| "$#{key.size * 100}\r\n\r\n".size + (key.size * 100) }
        5 + 5 + values + 5 + 5 + (keys.size * 5)
      end

      def encode(words) = "*#{words.size}\r\n#{words.map { |word| "$#{word.bytesize}\r\n#{word}\r\n" }.join}"

      def fill
        @proxy.servers.each do |port|
          TCPSocket.open("127.0.0.1", port) do |socket|
            socket.write(encode(["EVAL", FILL, "0", @keys.to_s, "x" * @value]))
            raise "a server was not filled" unless socket.gets("\r\n") == "$6\r\n"
          end
        end
      end

      def run(requests) = benchmark(requests, @pipeline, @words)

      # @return [Hash{String => String}] its line of CSV
      def benchmark(requests, pipeline, words)
        output, status = Open3.capture2(*Harness::Processors.for_origin, "redis-benchmark", "-p", @proxy.port.to_s, "--csv",
                                        "-c", CLIENTS.to_s, "-n", requests.to_s, "-P", pipeline.to_s, "-r", @keys.to_s, *words,
                                        err: File::NULL)
        raise "redis-benchmark failed: #{status}" unless status.success?

        lines = output.lines.last(2)
        CSV.parse_line(lines[0]).zip(CSV.parse_line(lines[1])).to_h
      end
    end
  end
end
