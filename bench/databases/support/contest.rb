# frozen_string_literal: true

require "rbconfig"
require_relative "../../harness/definition"
require_relative "../../harness/processors"
require_relative "../../server/support/served"
require_relative "../../server/support/wrk"

module Bench
  module Databases
    # What the cases with a server have in common: the same app, queries and size of the pool for all contestants, under wrk.
    class Contest
      FOLDER = File.expand_path("../servers", __dir__)
      DRIVERS = { "trilogy" => "trilogy", "mysql2" => "mysql2", "postgres" => "pg" }.freeze
      # What the servers need besides.
      GEMS = { "plait" => [], "puma" => %w[connection_pool], "falcon" => %w[connection_pool async] }.freeze
      # Seconds.
      WARM_UP = 5
      private_constant :FOLDER, :DRIVERS, :GEMS, :WARM_UP

      # @param bench [Harness::Definition] with the sizes `connections`, `pool`, `seconds` and `pause`
      def initialize(bench)
        @bench = bench
        metric = Harness::Metric
        bench.metrics metric.cpu("request"), metric.figure("requests_per_s", unit: "1/s", lower_is_better: false),
                      metric.figure("p99_ms", unit: "ms"), metric.figure("errors", unit: "errors"),
                      metric.figure("rss_mb", unit: "MB")
      end

      # @param driver [String] the scheme of a URL
      def plait(mechanism, driver)
        @bench.plait(gems: gems("plait", driver)) { |trial| measure(trial, "plait", mechanism, driver) }
      end

      # Another mechanism or driver of Plait's, beside the one that is judged.
      def also(mechanism, driver)
        @bench.peer("plait, #{mechanism} + #{driver}", gems: ["plait", *gems("plait", driver)]) do |trial|
          measure(trial, "plait", mechanism, driver)
        end
      end

      # @param server [String] "puma" or "falcon"
      def peer(server, driver)
        @bench.peer("#{server} + #{DRIVERS.fetch(driver)}", gems: [server, *gems(server, driver)]) do |trial|
          measure(trial, server, "-", driver)
        end
      end

      private

      def gems(server, driver) = [DRIVERS.fetch(driver), *GEMS.fetch(server)]

      # In the contestant's process.
      def measure(trial, server, mechanism, driver)
        Harness::Processors.pin
        served = Server::Served.new(RbConfig.ruby, File.join(FOLDER, "#{server}.rb"), mechanism.to_s, url(driver),
                                    trial[:pool].to_s, trial[:pause].to_s)
        body = sample(served)
        warm_up(served, trial)
        report(trial, served, body)
      ensure
        served&.stop
      end

      def report(trial, served, body)
        before = served.cpu
        report = load(served, trial, trial[:seconds])
        raise "it has answered nothing in #{trial[:seconds]} s" if report.requests.zero?

        trial.report(operations: report.requests, cpu: served.cpu - before, result: body, figures: figures(served, report, trial))
      end

      # Opens the connections to the database, which takes some so long that nothing is answered meanwhile.
      def warm_up(served, trial)
        load(served, trial, WARM_UP)
      rescue RuntimeError
        nil
      end

      # Of the servers that run.rb has started.
      def url(driver)
        ENV.fetch("PLAIT_BENCH_#{driver.upcase}") { raise "the database is not installed: mariadb-server, postgresql" }
      end

      def sample(served)
        served.answer
        [1, 2, 99_991].map { |number| Net::HTTP.get(URI("http://127.0.0.1:#{served.port}/?#{number}")) }
      end

      def load(served, trial, seconds) = Server::Wrk.load(served.port, trial[:connections], seconds)

      def figures(served, report, trial)
        { "requests_per_s" => report.requests / trial[:seconds].to_f, "p99_ms" => report.p99, "errors" => report.errors,
          "rss_mb" => served.memory }
      end
    end
  end
end
