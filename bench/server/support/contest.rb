# frozen_string_literal: true

require "rbconfig"
require_relative "../../harness/definition"
require_relative "../../harness/native"
require_relative "../../harness/processors"
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

      # @param bench [Harness::Definition] with the sizes `seconds` and `connections`
      # @param app [String] see servers/app.rb
      # @param fields [Array<String>] of each request
      def initialize(bench, app: "hello", fields: [])
        @bench = bench
        @app = app
        @fields = fields
        bench.metrics CPU, RATE, P99, ERRORS, MEMORY
      end

      # @param mechanism [Symbol]
      def plait(mechanism) = @bench.plait { |trial| measure(trial, ruby("plait", mechanism)) }

      # Another mechanism of Plait's, beside the one that is judged.
      def also(mechanism)
        @bench.peer("plait, #{mechanism}", gems: %w[plait]) { |trial| measure(trial, ruby("plait", mechanism)) }
      end

      # @param name [String] of a file in servers/
      # @param threads [Integer]
      def peer(name, threads, row: name)
        @bench.peer(row, gems: [name]) { |trial| measure(trial, ruby(name, threads)) }
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
        before = served.cpu
        report = load(served, trial, trial[:seconds])
        trial.report(operations: report.requests, cpu: served.cpu - before, result: body, figures: figures(served, report, trial))
      ensure
        served&.stop
      end

      def load(served, trial, seconds) = Wrk.load(served.port, trial[:connections], seconds, fields: @fields)

      def figures(served, report, trial)
        { "requests_per_s" => report.requests / trial[:seconds].to_f, "p99_ms" => report.p99, "errors" => report.errors,
          "rss_mb" => served.memory }
      end
    end
  end
end
