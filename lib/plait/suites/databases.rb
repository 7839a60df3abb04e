# frozen_string_literal: true

require_relative "../values/errors"
require_relative "suite"
require_relative "../lab"
require_relative "databases/apache_bench"
require_relative "databases/experiment"
require_relative "databases/line"
require_relative "databases/mariadb"
require_relative "databases/mongo"
require_relative "databases/people"
require_relative "databases/postgres"
require_relative "databases/site"

module Plait
  module Suites
    # The classic experiment: the same Rack app, three queries a request over a table of 100,000 rows (by key, by range, an
    # aggregate), under each mechanism of the server, by each driver that is installed, with 100, 1,000 and 10,000
    # connections at once. The database servers are started and filled for it.
    class Databases < Suite
      NAME = "databases"
      TITLE = "Databases"
      SUMMARY = "three queries a request over 100,000 rows, in MariaDB, PostgreSQL and MongoDB, by each driver"
      BRIEF = { requests: 1000, limits: [100], latency: [0.01] }.freeze

      CONNECTIONS = [100, 1000, 10_000].freeze
      LATENCIES = [0.01, 0].freeze
      # Without reuse the rows of this number of connections alone are measured again.
      ANEW = 1000
      REQUESTS = 10_000
      SECONDS = ->(value) { value.is_a?(Numeric) && !value.negative? }
      private_constant :SECONDS

      NOTES = ["Every row has #{Line::POOL} connections to the database. The server of the app, the database and ab share the " \
               "processors of this machine; CPU, memory and GC are those of the app's server alone."].freeze

      private

      # @param latency [Numeric, Array<Numeric>] seconds that each query waits in the server
      # @param limits [Array<Integer>] connections at once
      def build(requests: REQUESTS, latency: LATENCIES, url: nil, limits: CONNECTIONS, on: nil, **)
        check("requests", requests, "a whole number from 1 up") { |value| value.is_a?(Integer) && value.positive? }
        limits.each { |one| check("limit", one, "a whole number from 1 up") { |limit| limit.is_a?(Integer) && limit.positive? } }
        latencies = Array(latency)
        latencies.each { |one| check("latency", one, "a number of seconds from 0 up", &SECONDS) }
        found = servers(url)
        ApacheBench.check
        found.product(latencies).map { |server, seconds| workload(server, seconds, limits, requests, on) }
      end

      def servers(url)
        return [Site.new(url)] if url

        found = [Mariadb.new, Postgres.new, mongo].select { |server| server.installed? && server.ways.any? }
        return found if found.any?

        raise UnsupportedError, "the suite databases needs a server and a driver for it: mariadb-server with the gem trilogy " \
                                "or mysql2, postgresql with the gem pg; or --url postgres://…"
      end

      def mongo = ENV["PLAIT_MONGODB_URL"] ? Site.new(ENV.fetch("PLAIT_MONGODB_URL")) : Mongo.new

      def workload(server, seconds, limits, requests, on)
        rows = rows(server, limits).map { |one| Line.new(server: server, seconds: seconds, requests: requests, **one) }
        lines = rows.to_h { |line| [line.cell, line] }.compare_by_identity
        Experiment.new(name: "#{NAME}-#{server.name}-#{(seconds * 1000).round}ms", title: title_for(server, seconds),
                       unit: "requests", description: SUMMARY, cells: only(lines.keys, on), around: server.method(:around),
                       lines: lines, notes: NOTES)
      end

      def title_for(server, seconds)
        format("%s: 3 queries a request over %d rows, %g ms of waiting in each", server.title, People::ROWS, seconds * 1000)
      end

      # @return [Array<Hash>]
      def rows(server, limits)
        possible = limits.select { |limit| limit <= server.most }
        tables = (possible.empty? ? [server.most] : possible).map { |limit| [limit, true] }
        tables << [ANEW, false] if possible.include?(ANEW)
        tables.product(server.ways).flat_map do |(connections, kept), driver|
          ways(driver).map { |way| { connections: connections, kept: kept, driver: driver, way: way } }
        end
      end

      def ways(driver)
        historical = driver == "mysql2" && Gem::Specification.find_all_by_name("eventmachine").any?
        historical ? [*Line::WAYS, Line::HISTORICAL] : Line::WAYS
      end
    end
  end
end
