# frozen_string_literal: true

require "plait/lab"
require_relative "../db"
require_relative "databases/server"

module Plait
  module Suites
    # Three queries an item over a table of 100,000 rows (by key, by range, an aggregate), under each mechanism, by each driver
    # that is installed. The database servers are started and filled for it, or the user names one.
    class Databases < Suite
      PLACE = 60
      APART = true
      NAME = "databases"
      TITLE = "Databases"
      SUMMARY = "three queries an item over 100,000 rows, in MariaDB and PostgreSQL or a server of yours, by each driver"
      BUDGET = 600.0
      OPTIONS = { requests: "how many items (default: 2,000; with --full 10,000)", url: "measure this server",
                  latency: "how long each query waits in the server (default: 0.01,0), a table for each",
                  full: "more items, and more of them in flight: an hour instead of some minutes" }.freeze

      MECHANISMS = %i[threads fibers hybrid].freeze
      # Items in flight, each with a connection of its own.
      LIMITS = { usual: [16], full: [16, 128] }.freeze
      # Seconds that each query waits in the server.
      LATENCIES = [0.01, 0].freeze
      REQUESTS = { usual: 2000, full: 10_000 }.freeze
      KINDS = { "trilogy" => Mariadb, "mysql2" => Mariadb, "postgres" => Postgres, "postgresql" => Postgres,
                "mongodb" => Mongo }.freeze

      NOTES = ["Every row has as many connections to the database as items in flight. The database shares the processors of " \
               "this machine."].freeze

      # The body of a cell: the three queries by one driver. Each process connects at its first query.
      Queries = Struct.new(:server, :scheme, :pause, :size) do
        def open = @database = DB.connect(server.url(scheme), size: size)

        def close = @database&.close

        def call(number) = server.ask(@database, number, pause)
      end

      private

      # @param latency [Numeric, Array<Numeric>] seconds that each query waits in the server
      # @param limits [Array<Integer>] items in flight
      # @param full [Boolean] more items, and more of them in flight
      def build(requests: nil, latency: nil, url: nil, limits: nil, on: nil, full: false, **)
        size = full ? :full : :usual
        items = (1..check_whole("requests", requests || REQUESTS.fetch(size))).to_a
        limits ||= LIMITS.fetch(size)
        limits.each { |one| check_whole("limit", one) }
        latencies = Array(latency || LATENCIES).each { |one| check_seconds("latency", one) }
        servers(url).flat_map do |server|
          server.latencies(latencies).map { |seconds| workload(server, seconds, items, limits, on) }
        end
      end

      def servers(url)
        return [site(url)] if url

        found = [Mariadb.new, Postgres.new].select { |server| server.installed? && server.ways.any? }
        found << site(ENV.fetch("PLAIT_MONGO_URL")) if ENV.key?("PLAIT_MONGO_URL")
        return found if found.any?

        raise UnsupportedError, "the suite databases needs a server and a driver for it: mariadb-server with the gem trilogy " \
                                "or mysql2, postgresql with the gem pg; or --url postgres://…"
      end

      # @raise [UsageError] which does not repeat a password
      def site(url)
        scheme = url[/\A\w+(?=:)/]
        kind = KINDS.fetch(scheme) do
          raise UsageError, "#{scheme ? "#{scheme}://…" : "what has no ://"} is no database of this suite: give one like " \
                            "#{KINDS.keys.join("://…, ")}://…"
        end
        kind.new(url)
      end

      def workload(server, seconds, items, limits, on)
        queries = server.ways.to_h { |scheme| [scheme, Queries.new(server, scheme, server.pause(seconds), limits.max)] }
        cells = limits.product(queries.to_a, MECHANISMS).map do |limit, (scheme, some), mechanism|
          Lab::Cell.new(label: "#{mechanism} + #{scheme} (limit #{limit})", on: mechanism, limit: limit, items: items,
                        body: some.method(:call).to_proc, group: server.name)
        end
        Lab::Workload.new(name: "#{NAME}-#{server.name}-#{(seconds * 1000).round}ms", title: title_for(server, seconds),
                          unit: "items", description: SUMMARY,
                          work: format("queries, %g ms each", seconds * 1000), cells: only(cells, on), notes: NOTES,
                          around: around(server, queries.values))
      end

      def around(server, queries)
        lambda do |&block|
          server.around do
            queries.each(&:open)
            block.call
          ensure
            queries.each(&:close)
          end
        end
      end

      def title_for(server, seconds)
        format("%s: 3 queries an item over %d rows, %g ms of waiting in each", server.title, Server::ROWS, seconds * 1000)
      end
    end
  end
end
