# frozen_string_literal: true

require_relative "../../server/support/contest"

module Bench
  module Databases
    # What the cases with a server have in common: the same app, queries and size of the pool for all contestants, under wrk for
    # some time, or under ab until it has had all its answers.
    class Contest
      FOLDER = File.expand_path("../servers", __dir__)
      DRIVERS = { "trilogy" => "trilogy", "mysql2" => "mysql2", "postgres" => "pg" }.freeze
      # What the servers need.
      GEMS = { "plait" => %w[plait], "puma" => %w[puma connection_pool], "falcon" => %w[falcon connection_pool async],
               "thread_per_connection" => %w[plait], "event_machine" => %w[eventmachine] }.freeze
      # More requests than there are connections.
      ALL = 20_000
      # Seconds.
      WARM_UP = 3
      private_constant :FOLDER, :DRIVERS, :GEMS, :ALL, :WARM_UP

      # @param bench [Harness::Definition] with the sizes `connections`, `pool`, `pause`, and `seconds` or `requests`
      # @param classic [Boolean] whether ab is to send `requests`
      def initialize(bench, classic: false)
        @bench = bench
        @classic = classic
        served = Server::Contest
        bench.metrics served::CPU, served::RATE, served::P99, served::ERRORS, Harness::Metric.figure("peak_mb", unit: "MB")
      end

      # @param driver [String] the scheme of a URL
      def plait(mechanism, driver) = enter(:plait, "plait", "plait", driver, mechanism: mechanism)

      # Another mechanism or driver of Plait's, beside the one that is judged.
      def also(mechanism, driver) = enter(:peer, "plait, #{mechanism} + #{driver}", "plait", driver, mechanism: mechanism)

      # As {also}, but no request waits in front of the app: each waits in it, for the pool.
      def at_once(mechanism, driver)
        enter(:peer, "plait, all in #{mechanism} + #{driver}", "plait", driver, mechanism: mechanism, limit: ALL)
      end

      # @param server [String] "puma" or "falcon"
      def peer(server, *drivers)
        drivers.each { |driver| enter(:peer, "#{server} + #{DRIVERS.fetch(driver)}", server, driver) }
      end

      def thread_per_connection(driver) = enter(:peer, "a thread per connection + #{driver}", "thread_per_connection", driver)

      def event_machine(driver) = enter(:peer, "EventMachine + fibers + #{driver}", "event_machine", driver)

      private

      # @param kind [Symbol] :plait or :peer
      # @param server [String] its file in servers/
      # @param manner [Hash] mechanism: and limit: of Plait's server
      def enter(kind, name, server, driver, **manner)
        gems = [DRIVERS.fetch(driver), *GEMS.fetch(server)]
        @bench.public_send(kind, name, gems: gems) { |trial| measure(trial, server, driver, **manner) }
      end

      # In the contestant's process.
      def measure(trial, server, driver, mechanism: "-", limit: trial[:pool])
        Harness::Processors.pin
        served = Server::Served.new(RbConfig.ruby, File.join(FOLDER, "#{server}.rb"), "#{mechanism}:#{limit}", url(driver),
                                    trial[:pool].to_s, trial[:pause].to_s)
        body = sample(served)
        warm_up(served, trial)
        report(trial, served, body)
      ensure
        served&.stop
      end

      def report(trial, served, body)
        before = served.cpu
        report, seconds = load(served, trial)
        raise "it has answered nothing in #{seconds} s" if report.requests.zero?

        trial.report(operations: report.requests, cpu: served.cpu - before, result: body,
                     figures: { **served.figures(report, seconds), "peak_mb" => served.peak / 1e6 })
      end

      # Opens the connections to the database, which takes some so long that nothing is answered meanwhile.
      def warm_up(served, trial)
        Server::Wrk.load(served.port, [trial[:connections], trial[:pool] * 4].min, WARM_UP)
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

      # @return [Array(#requests, Numeric)] a report, and seconds
      def load(served, trial)
        return Server::Ab.load_until_answered(served.port, trial[:connections], trial[:requests]) if @classic

        [Server::Wrk.load(served.port, trial[:connections], trial[:seconds]), trial[:seconds]]
      end
    end
  end
end
