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
      def plait(mechanism)
        entry = Roster::PLAIT.fetch(mechanism)
        @bench.plait { |trial| measure(trial, entry) }
      end

      # Calls of a plain `get` under {::Plait.map}.
      # @param mechanism [Symbol] :fibers or :threads
      def map(mechanism)
        entry = Roster::MAP.fetch(mechanism)
        @bench.plait { |trial| measure(trial, entry) }
      end

      # @param names [Array<String>] see {Roster}
      def peers(*names)
        names.each do |name|
          entry = Roster.fetch(name)
          @bench.peer(name, gems: entry.gems) { |trial| measure(trial, entry) }
        end
      end

      # @param kind [Symbol] :plait or :peer
      # @param way [Symbol] see {Clients::OrdinaryCalls}
      # @param path [String] of the page, as for format
      # @param like [String] whose way of calling it is
      def calls(name, kind, way, path, like: "Plait")
        @bench.public_send(kind, name, gems: like == "Plait" ? Roster::FIBERS : []) do |trial|
          require_relative "../clients/ordinary_calls"
          pages.path = path
          measure(trial, ->(site, limit) { Clients::OrdinaryCalls.const_get(like).new(site, limit, way: way) })
        end
      end

      # The libraries that send and receive files: the class in {Clients::Transfers}, and the gems.
      TRANSFERS = { "plait" => [:Plait, Roster::FIBERS], "Net::HTTP" => [:NetHttp, []], "http.rb" => [:HttpRb, %w[http]],
                    "httpx" => [:Httpx, %w[httpx]], "curb" => [:Curb, %w[curb]] }.freeze

      # @param name [String] see {TRANSFERS}
      # @param way [Symbol] see {Clients::Transfers}
      def transfers(name, kind, way)
        like, gems = TRANSFERS.fetch(name)
        @bench.public_send(kind, name, gems: gems) do |trial|
          require_relative "../clients/transfers"
          measure(trial, ->(site, limit) { Clients::Transfers.const_get(like).new(site, limit, way: way) })
        end
      end

      # The fan-out by HTTP/1.1, where the others speak HTTP/2.
      def http1(name)
        @bench.peer(name, gems: Roster::FIBERS) do |trial|
          measure(trial, ->(site, limit) { Roster::PLAIT[:fibers].client(site.dup.tap { |one| one.http2 = false }, limit) })
        end
      end

      def floor
        @bench.floor(FLOOR) do |trial|
          require_relative "floor"
          Harness::Processors.pin
          Floor.report(trial, site, pages, -> { in_flight })
        end
      end

      private

      # In the contestant's process.
      def measure(trial, entry)
        require_relative "kept"
        Harness::Processors.pin
        client = entry.is_a?(Proc) ? entry.call(site, trial[:in_flight]) : entry.client(site, trial[:in_flight])
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
