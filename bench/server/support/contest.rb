# frozen_string_literal: true

require "digest"
require "rbconfig"
require_relative "../../harness/definition"
require_relative "../../harness/native"
require_relative "../../harness/processors"
require_relative "ab"
require_relative "crowd"
require_relative "served"
require_relative "wrk"

module Bench
  module Server
    # What the cases of this bench have in common: the metrics, the contestants, and what each of them does.
    class Contest
      FLOOR = "C, epoll"
      FOLDER = File.expand_path("../servers", __dir__)

      # Of the server's process alone.
      CPU = Harness::Metric.cpu("request")
      RATE = Harness::Metric.figure("requests_per_s", unit: "1/s", lower_is_better: false)
      P99 = Harness::Metric.figure("p99_ms", unit: "ms")
      ERRORS = Harness::Metric.figure("errors", unit: "errors")
      MEMORY = Harness::Metric.figure("rss_mb", unit: "MB")
      # Of a crowd: connections of which at least one request was answered, bytes that the one with the most got over those of the
      # one with the least, and connections that the kernel refused.
      SERVED = Harness::Metric.figure("connections_served", unit: "connections", lower_is_better: false)
      UNFAIRNESS = Harness::Metric.figure("most_to_least", unit: "times")
      OVERFLOWS = Harness::Metric.figure("listen_overflows", unit: "connections")

      # @param bench [Harness::Definition] with the sizes `seconds` and `connections`
      # @param app [String] see servers/app.rb
      # @param gems [Array<String>] that the app needs
      # @param generator [#load] {Wrk} or {Ab}
      # @param crowd [Boolean] whether the connections are counted at the server
      # @param how [Hash] see {Wrk.load}: fields:, close:
      def initialize(bench, app: "hello", gems: [], generator: Wrk, crowd: false, **how)
        @bench = bench
        @app = app
        @gems = gems
        @generator = generator
        @crowd = crowd
        @how = how
        bench.metrics CPU, RATE, P99, ERRORS, MEMORY, *([SERVED, UNFAIRNESS, OVERFLOWS] if crowd)
      end

      # @param mechanism [Symbol]
      def plait(mechanism) = @bench.plait(gems: @gems) { |trial| measure(trial, ruby("plait", mechanism)) }

      # Another mechanism of Plait's, beside the one that is judged.
      def also(mechanism)
        @bench.peer("plait, #{mechanism}", gems: ["plait", *@gems]) { |trial| measure(trial, ruby("plait", mechanism)) }
      end

      # @param name [String] of a file in servers/
      # @param threads [Integer]
      def peer(name, threads, row: name)
        @bench.peer(row, gems: [name, *@gems]) { |trial| measure(trial, ruby(name, threads)) }
      end

      # All others. (itsi-server is not among them: its dependencies do not go together with those of the others.)
      # @param threads [Integer] of those that run on threads
      def peers(threads = 5)
        peer "iodine", 1
        peer "agoo", 1
        peer "falcon", 1
        peer "puma", threads
      end

      def floor
        @bench.floor(FLOOR) { |trial| measure(trial, [Harness::Native.build(File.expand_path("../floor.c", __dir__))]) }
      end

      private

      def ruby(file, argument) = [RbConfig.ruby, File.join(FOLDER, "#{file}.rb"), @app, argument.to_s]

      # In the contestant's process.
      def measure(trial, command)
        Harness::Processors.pin
        served = Served.new(*command)
        body = served.answer
        load(served, trial, 1)
        overflows = Crowd.overflows
        before = served.cpu
        report, sent = watched(served, trial)
        raise "the server has died under the load" unless served.alive?

        cpu = served.cpu - before
        figures = figures(served, report, trial).merge(crowd(sent, overflows))
        trial.report(operations: report.requests, cpu: cpu, result: Digest::SHA256.hexdigest(body), figures: figures)
      ensure
        served&.stop
      end

      # The connections are counted shortly before the load generator closes them.
      def watched(served, trial)
        return [load(served, trial, trial[:seconds]), nil] unless @crowd

        watcher = Thread.new do
          sleep(trial[:seconds] * 0.8)
          Crowd.sent(served.port)
        end
        [load(served, trial, trial[:seconds]), watcher.value]
      end

      def load(served, trial, seconds) = @generator.load(served.port, trial[:connections], seconds, **@how)

      def crowd(sent, overflows)
        return {} unless @crowd

        { "connections_served" => sent.count(&:positive?), "listen_overflows" => Crowd.overflows - overflows,
          "most_to_least" => sent.max.to_f / [sent.min || 1, 1].max }
      end

      def figures(served, report, trial)
        { "requests_per_s" => report.requests / trial[:seconds].to_f, "p99_ms" => report.p99, "errors" => report.errors,
          "rss_mb" => served.memory }
      end
    end
  end
end
