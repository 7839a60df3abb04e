# frozen_string_literal: true

require "digest"
require "rbconfig"
require_relative "../../harness/definition"
require_relative "../../harness/native"
require_relative "../../harness/processors"
require_relative "ab"
require_relative "certificate"
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
      # Of CPU what is not the kernel's.
      USER = Harness::Metric.figure("user_us_per_request", unit: "us")
      # @param bench [Harness::Definition] with the sizes `seconds` and `connections`
      # @param app [String] see servers/app.rb
      # @param gems [Array<String>] that the app needs
      # @param generator [#load] {Wrk} or {Ab}
      # @param how [Hash] see {Wrk.load}: fields:, close:, tls:
      def initialize(bench, app: "hello", gems: [], generator: Wrk, **how)
        @bench = bench
        @app = app
        @gems = gems
        @generator = generator
        @how = how
        bench.metrics(*metrics)
      end

      # @param mechanism [Symbol]
      def plait(mechanism) = @bench.plait(gems: @gems) { |trial| measure(trial, ruby("plait", mechanism)) }

      # Other mechanisms of Plait's, or the same for another app or load, beside the one that is judged.
      def also(*mechanisms, row: nil, app: @app, **how)
        mechanisms.each do |mechanism|
          @bench.peer(row || "plait, #{mechanism}", gems: ["plait", *@gems]) do |trial|
            measure(trial, ruby("plait", mechanism, app), **how)
          end
        end
      end

      # @param name [String] of a file in servers/
      # @param threads [Integer]
      def peer(name, threads, row: name, gem: name)
        @bench.peer(row, gems: [gem, *@gems]) { |trial| measure(trial, ruby(name, threads)) }
      end

      # Mechanisms of Plait, of which the first is judged, and all others.
      def all(mechanism, *mechanisms)
        plait mechanism
        also(*mechanisms)
        peers
      end

      # All others.
      def peers
        peer "iodine", 1
        peer "agoo", 1
        peer "falcon", 1
        peer "itsi", 5, gem: "itsi-server"
        peer "puma", 5
      end

      def floor
        manner = @how[:close] ? "close" : "keep"
        @bench.floor(FLOOR) { |trial| measure(trial, [Harness::Native.build(File.expand_path("../floor.c", __dir__)), manner]) }
      end

      private

      def ruby(file, argument, app = @app) = [RbConfig.ruby, File.join(FOLDER, "#{file}.rb"), app, argument.to_s]

      def metrics = [CPU, USER, RATE, P99, ERRORS, MEMORY]

      # In the contestant's process.
      def measure(trial, command, **how)
        Harness::Processors.pin
        @how = @how.merge(how)
        served = Served.new(*command, environment: @how[:tls] ? Certificate.environment : {})
        body = served.answer
        warm_up(served, trial)
        trial.report(result: Digest::SHA256.hexdigest(body), **compete(served, trial))
      ensure
        served&.stop
      end

      def warm_up(served, trial)
        load(served, trial, 1)
        served.settle
      end

      # @return [Hash] as Trial#report takes it, but for the result
      def compete(served, trial)
        before = served.cpu
        user = served.user
        report = load(served, trial, trial[:seconds])
        check(served)
        raise "no request was answered" if report.requests.zero?

        figures = { "user_us_per_request" => (served.user - user) * 1e6 / report.requests }
        { operations: report.requests, cpu: served.cpu - before,
          figures: figures.merge(served.figures(report, trial[:seconds])) }
      end

      def load(served, trial, seconds) = @generator.load(served.port, trial[:connections], seconds, **@how)

      def check(served)
        raise "the server has died under the load" unless served.alive?
      end
    end
  end
end
