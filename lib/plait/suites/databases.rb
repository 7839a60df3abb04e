# frozen_string_literal: true

require_relative "../values/errors"
require_relative "suite"
require_relative "../lab"
require_relative "databases/mariadb"
require_relative "databases/people"
require_relative "databases/postgres"
require_relative "databases/site"

module Plait
  module Suites
    # Three queries for each item over a table of 100,000 rows (by key, by range, an aggregate), on every mechanism, by each
    # driver that is installed, on servers that are started and filled for it.
    class Databases < Suite
      NAME = "databases"
      TITLE = "Databases"
      SUMMARY = "three queries each for 200 items over 100,000 rows, in MariaDB and PostgreSQL, by each driver"
      BRIEF = {}.freeze

      # More connections than this help neither server.
      MOST_CONNECTIONS = 64
      MECHANISMS = %i[sequence threads fibers hybrid].freeze
      LIMITS = [10, 64].freeze

      private

      # @param latency [Numeric, Array<Numeric>] seconds that each query waits in the server
      def build(requests: 200, latency: 0.01, url: nil, limits: nil, on: nil, **)
        check("requests", requests, "a whole number from 1 up") { |value| value.is_a?(Integer) && value.positive? }
        limits ||= LIMITS
        limits.each { |one| check("limit", one, "a whole number from 1 up") { |limit| limit.is_a?(Integer) && limit.positive? } }
        seconds = Array(latency).first
        check("latency", latency, "a number of seconds from 0 up") { seconds.is_a?(Numeric) && !seconds.negative? }
        servers(url).map { |server| workload(server, rows(limits), (1..requests).to_a, seconds, on) }
      end

      def servers(url)
        return [Site.new(url)] if url

        found = [Mariadb.new, Postgres.new].select { |server| server.installed? && server.ways.any? }
        return found if found.any?

        raise UnsupportedError, "the suite databases needs a server and a driver for it: mariadb-server with the gem trilogy " \
                                "or mysql2, postgresql with the gem pg; or --url postgres://…"
      end

      def workload(server, rows, items, latency, on)
        cells = server.ways.product(rows).map do |way, (mechanism, limit)|
          people = People.new(server, way, connections: [limit, MOST_CONNECTIONS].min, latency: latency)
          cell(mechanism, limit, items, people, label_for(way, mechanism, limit))
        end
        Lab::Workload.new(name: "#{NAME}-#{server.name}", title: title_for(server, items.size, latency), unit: "items",
                          description: SUMMARY, cells: only(cells, on), around: server.method(:around))
      end

      def title_for(server, requests, latency)
        format("%s: 3 queries each for %d items, %g ms of waiting in each", server.title, requests, latency * 1000)
      end

      def rows(limits)
        MECHANISMS.flat_map { |mechanism| (mechanism == :sequence ? [1] : limits).map { |limit| [mechanism, limit] } }
      end

      def label_for(way, mechanism, limit) = mechanism == :sequence ? way : "#{mechanism} + #{way} (limit #{limit})"

      # The warm-up opens every connection.
      def cell(mechanism, limit, items, people, label)
        Lab::Cell.new(label: label, on: mechanism, limit: limit, items: items, body: people.to_proc,
                      warmup_items: items.first(limit), memory_items: items.first(20))
      end
    end
  end
end
