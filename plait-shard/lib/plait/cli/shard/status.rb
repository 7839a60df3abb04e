# frozen_string_literal: true

require "json"
require "net/http"
require_relative "../../shard"

module Plait
  module CLI
    class Shard < Command
      # Asks a running proxy for its figures, at its --metrics.
      class Status < Command
        SECONDS = 10

        # @return [Integer] an {ExitStatus}: a failure where a node does not answer
        # @raise [ConnectError] no proxy answers
        def call
          text = ask(options["metrics"] || raise(UsageError, "name the proxy: plait shard status --metrics HOST:PORT"))
          status = JSON.parse(text)
          options["json"] ? terminal.data(text) : terminal.say(*lines(status))
          status["nodes"].all? { |node| node["up"] } ? ExitStatus::OK : ExitStatus::FAILED
        end

        private

        def ask(address)
          node = Plait::Shard::Node.parse(address)
          Net::HTTP.start(node.host, node.port, nil, open_timeout: SECONDS, read_timeout: SECONDS) do |http|
            http.get("/status").body
          end
        rescue SystemCallError, SocketError, Timeout::Error, IOError => e
          raise ConnectError.new("no proxy serves its figures at #{address}: #{e.message}", endpoint: "http://#{address}")
        end

        def lines(status)
          figures = status["figures"]
          [format("%d clients, %d since the start; %d commands, %d errors; %.1f MB in, %.1f MB out",
                  *figures.values_at("clients", "accepted", "commands", "errors"), figures["bytes_in"] / 1e6,
                  figures["bytes_out"] / 1e6),
           *table(%w[node state requests failures], nodes(status)),
           *table(%w[command count mean p99], commands(status)),
           *table(["hot key", "commands/s"], hot_keys(status)),
           *table(%w[slow seconds client at], slow(status))]
        end

        def nodes(status)
          status["nodes"].map { |node| [node["address"], node["up"] ? "up" : "DOWN", *node.values_at("requests", "failures")] }
        end

        def commands(status)
          status["commands"].sort_by { |_, own| -own["count"] }.map do |name, own|
            [name, own["count"], milliseconds(own["mean"]), own["p99"] ? "<= #{milliseconds(own["p99"])}" : "more"]
          end
        end

        def milliseconds(seconds) = format("%.2f ms", seconds * 1000)

        def slow(status) = status["slow"].map { |one| [one["command"], format("%.3f", one["seconds"]), one["client"], one["at"]] }

        def hot_keys(status) = status["hot_keys"].map { |hot| [hot["key"], hot["per_second"].round] }

        def table(head, rows)
          return [] if rows.empty?

          widths = [head, *rows].transpose.map { |column| column.map { |cell| cell.to_s.size }.max }
          ["", *[head, *rows].map { |row| row.zip(widths).map { |cell, width| cell.to_s.ljust(width) }.join("  ").rstrip }]
        end
      end
    end
  end
end
