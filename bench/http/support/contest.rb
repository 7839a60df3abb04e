# frozen_string_literal: true

require_relative "../../harness/definition"
require_relative "pages"
require_relative "../../harness/processors"
require_relative "roster"

module Bench
  module HTTP
    # What the cases of this bench have in common: the metrics, the contestants, and what each of them does.
    class Contest
      FLOOR = "C, epoll"

      # Of the client's process alone.
      CPU = Harness::Metric.cpu("request")
      WALL = Harness::Metric.seconds
      OBJECTS = Harness::Metric.figure("objects_per_request", unit: "objects")
      MALLOC = Harness::Metric.figure("malloc_kb_per_request", unit: "kB")
      COUNTED = [CPU, WALL, OBJECTS, MALLOC].freeze
      PEAK = Harness::Metric.new("peak_mb", unit: "MB") { |sample| sample.memory && (sample.memory / 1e6) }
      MEMORY = Harness::Metric.memory("request")
      UNANSWERED = Harness::Metric.figure("unanswered_peak", unit: "requests", lower_is_better: false)
      OPEN = Harness::Metric.figure("open_peak", unit: "connections", lower_is_better: false)

      # @param bench [Harness::Definition] with the sizes `requests`, `in_flight` and, where allocations are counted,
      #   `counted`
      # @param page [Symbol] see {Pages}
      # @param tls [Boolean, Symbol] :http2 is HTTP/2 by TLS
      # @param latency [Integer, nil] milliseconds; nil: nginx answers, at once
      # @param counted [Boolean] whether allocations are counted
      def initialize(bench, page:, tls: false, latency: nil, counted: true)
        @bench = bench
        @page = page
        @tls = tls
        @latency = latency
        @counted = counted
      end

      # @param mechanism [Symbol] :fibers, :threads or :sequence
      def plait(mechanism) = enter(:plait, "plait", Roster::PLAIT.fetch(mechanism))

      # Plait under a mechanism, peers, and the floor.
      def all(mechanism, *names)
        plait mechanism
        peers(*names)
        floor
      end

      # Calls of a plain `get` under {::Plait.map}.
      # @param mechanism [Symbol] :fibers or :threads
      def map(mechanism) = enter(:plait, "plait", Roster::MAP.fetch(mechanism))

      # @param names [Array<String>] see {Roster}
      def peers(*names) = names.each { |name| enter(:peer, name, Roster.fetch(name)) }

      # @param kind [Symbol] :plait or :peer
      # @param way [Symbol] see {Clients::OrdinaryCalls}
      # @param path [String] of the page, as for format
      # @param like [String] whose way of calling it is
      def calls(name, kind, way, path, like: "Plait") = enter(kind, name, Roster.ordinary(like, way)) { pages.path = path }

      # @param name [String] see {Roster::TRANSFERS}
      # @param way [Symbol] see {Clients::Transfers}
      def transfers(name, kind, way) = enter(kind, name, Roster.transfer(name, way))

      # The fan-out by HTTP/1.1, where the others speak HTTP/2.
      def http1(name) = enter(:peer, name, Roster::PLAIT.fetch(:fibers)) { site.http2 = false }

      def floor
        @bench.floor(FLOOR) do |trial|
          require_relative "floor"
          Harness::Processors.pin
          Floor.report(trial, site, pages, -> { in_flight })
        end
      end

      private

      # @param kind [Symbol] :plait or :peer
      # @param entry [Roster::Entry]
      # @yield before it is measured, in the contestant's process
      def enter(kind, name, entry, &prepare)
        @bench.public_send(kind, name, gems: entry.gems) do |trial|
          prepare&.call
          measure(trial, entry)
        end
      end

      # In the contestant's process.
      def measure(trial, entry)
        require_relative "kept"
        Harness::Processors.pin
        client = entry.client(site, trial[:in_flight])
        requests = client.requests(pages.targets(trial[:requests]))
        trial.measure(operations: requests.size, figures: -> { figures(trial, client) }) do |count|
          Kept.new(pages, client.get(requests.first(count)), in_order: client.in_order?)
        end
      end

      def figures(trial, client) = in_flight.merge(@counted ? allocations(trial, client) : {})

      def in_flight = @origin ? @origin.figures.slice("open_peak", "unanswered_peak") : {}

      def allocations(trial, client)
        require_relative "allocations"
        few = trial[:in_flight]
        requests = client.requests(pages.targets(few + trial[:counted]))
        Allocations.figures(requests.first(few), requests) { |part| client.get(part) }
      end

      def pages = Pages.fetch(@page)

      def site = @site ||= @latency ? delayed : published

      def published
        require_relative "site"
        case @tls
        when :http2 then Site.published.with_http2
        when true then Site.published.with_tls
        else Site.published
        end
      end

      def delayed
        require_relative "site"
        require_relative "../../harness/delayed_origin"
        @origin = Harness::DelayedOrigin.new(@latency, pages.bytes, Site.published.processor)
        Site.new(port: @origin.port)
      end
    end
  end
end
