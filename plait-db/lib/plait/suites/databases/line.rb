# frozen_string_literal: true

require "plait/suites/common/suite"
require "plait/lab"
require_relative "trial"

module Plait
  module Suites
    class Databases < Suite
      # A line of a table: one driver, one way to run the app, so many connections at once.
      Line = Struct.new(:server, :seconds, :requests, :connections, :kept, :driver, :way, keyword_init: true)

      # See above.
      class Line
        # Connections to the database, of every row.
        POOL = 128
        # How the app is run: the server's mechanism, and how many requests run at once. Where it is the size of the pool,
        # requests wait in front of the app; where it is more, in the app, for the pool.
        Way = Struct.new(:name, :on, :limit, keyword_init: true)
        WAYS = [
          Way.new(name: "threads", on: :threads, limit: POOL), Way.new(name: "fibers", on: :fibers, limit: POOL),
          Way.new(name: "fibers + pool", on: :fibers, limit: 20_000), Way.new(name: "hybrid + pool", on: :hybrid, limit: 20_000)
        ].freeze
        # The limit of these two is the number of connections.
        THREAD_PER_CONNECTION = Way.new(name: "a thread per connection", on: :threads)
        EVENT_MACHINE = Way.new(name: "EventMachine + fibers", on: :fibers)

        # @return [Lab::Cell]
        def cell
          label = "#{name}#{", new connections" unless kept} (limit #{connections})"
          Lab::Cell.new(label: label, group: table, on: way.on, limit: connections, items: [1], body: :itself.to_proc,
                        runner: trial)
        end

        # @return [String] that it stands in
        def table = "#{connections} connections, #{kept ? "reused" : "a new one for each request"}"

        # @return [String]
        def name = "#{way.name} + #{driver}"

        private

        def trial
          file, gems = event_machine? ? ["event_machine", ["eventmachine"]] : ["served", []]
          Trial.new(file: File.join(__dir__, file), gems: [*server.gems(driver), *gems], code: method(:code),
                    connections: connections, requests: [requests, connections].max, kept: kept)
        end

        def event_machine? = way.equal?(EVENT_MACHINE)

        # When the server of the database is there: its port is known then.
        def code
          name = event_machine? ? "EventMachine" : "Served"
          options = { url: server.url(driver), size: POOL, pause: seconds.zero? ? nil : server.pause(seconds) }
          options.update(on: way.on, limit: way.limit) unless event_machine?
          "require %(rubygems); $stdout.sync = true; " \
            "Plait::Suites::Databases::#{name}.new(**#{options.inspect}).run { |port| puts(%(port \#{port})) }"
        end
      end
    end
  end
end
