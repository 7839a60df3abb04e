# frozen_string_literal: true

require "plait/values/errors"
require "plait/suites/common/suite"
require "plait/lab"
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
      PLACE = 60
      APART = true
      NAME = "databases"
      TITLE = "Databases"
      SUMMARY = "three queries a request over 100,000 rows, in MariaDB, PostgreSQL and MongoDB, by each driver"
      BRIEF = { requests: 1000, limits: [100], latency: [0.01] }.freeze

      CONNECTIONS = [100, 1000, 10_000].freeze
      LATENCIES = [0.01, 0].freeze
      # Without reuse the rows of this number of connections alone are measured again.
      ANEW = 1000
      # Where nothing is said, minutes and not an hour: by the seconds that each query waits, numbers of connections, and
      # whether they are reused.
      USUAL = { 0.01 => [*CONNECTIONS.product([true]), [ANEW, false]], 0 => [[ANEW, true]] }.freeze
      # At least as many as there are connections.
      REQUESTS = { usual: 2000, full: 10_000 }.freeze
      SECONDS = ->(value) { value.is_a?(Numeric) && !value.negative? }
      WHOLE = ->(value) { value.is_a?(Integer) && value.positive? }
      private_constant :SECONDS, :WHOLE

      NOTES = ["Every row has #{Line::POOL} connections to the database. The server of the app, the database and ab share the " \
               "processors of this machine; CPU, memory and GC are those of the app's server alone."].freeze

      private

      # @param latency [Numeric, Array<Numeric>] seconds that each query waits in the server
      # @param limits [Array<Integer>] connections at once
      # @param full [Boolean] whether each number of connections is measured with each latency
      def build(requests: nil, latency: nil, url: nil, limits: nil, on: nil, full: false, **)
        requests ||= REQUESTS.fetch(full ? :full : :usual)
        check("requests", requests, "a whole number from 1 up", &WHOLE)
        plan = plan(latency, limits, full)
        found = servers(url)
        ApacheBench.check
        found.product(plan.to_a).map do |server, (seconds, tables)|
          workload(server, seconds, possible(server, tables, full), requests, on)
        end
      end

      # @return [Hash{Numeric => Array<Array(Integer, Boolean)>}] as {USUAL}
      def plan(latency, limits, full)
        return USUAL unless latency || limits || full

        limits = (limits || CONNECTIONS).each { |one| check("limit", one, "a whole number from 1 up", &WHOLE) }
        tables = limits.product([true])
        tables << [ANEW, false] if limits.include?(ANEW)
        Array(latency || LATENCIES).to_h { |one| [check("latency", one, "a number of seconds from 0 up", &SECONDS), tables] }
      end

      def possible(server, tables, full)
        possible = tables.select { |connections, _| full || connections <= server.most }
        possible.empty? ? [[server.most, true]] : possible
      end

      def servers(url)
        return [Site.new(url)] if url

        found = [Mariadb.new, Postgres.new, mongo].select { |server| server.installed? && server.ways.any? }
        return found if found.any?

        raise UnsupportedError, "the suite databases needs a server and a driver for it: mariadb-server with the gem trilogy " \
                                "or mysql2, postgresql with the gem pg; or --url postgres://…"
      end

      def mongo = ENV["PLAIT_MONGO_URL"] ? Site.new(ENV.fetch("PLAIT_MONGO_URL")) : Mongo.new

      def workload(server, seconds, tables, requests, on)
        rows = rows(server, tables).map { |one| Line.new(server: server, seconds: seconds, requests: requests, **one) }
        lines = rows.to_h { |line| [line.cell, line] }.compare_by_identity
        Experiment.new(name: "#{NAME}-#{server.name}-#{(seconds * 1000).round}ms", title: title_for(server, seconds),
                       unit: "requests", description: SUMMARY, cells: only(lines.keys, on), around: server.method(:around),
                       lines: lines, notes: NOTES)
      end

      def title_for(server, seconds)
        format("%s: 3 queries a request over %d rows, %g ms of waiting in each", server.title, People::ROWS, seconds * 1000)
      end

      # @return [Array<Hash>]
      def rows(server, tables)
        tables.product(server.ways).flat_map do |(connections, kept), driver|
          ways(driver).map { |way| { connections: connections, kept: kept, driver: driver, way: way } }
        end
      end

      def ways(driver)
        evented = driver == "mysql2" && Gem::Specification.find_all_by_name("eventmachine").any?
        [*Line::WAYS, Line::THREAD_PER_CONNECTION, (Line::EVENT_MACHINE if evented)].compact
      end
    end
  end
end
