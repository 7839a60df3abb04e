# frozen_string_literal: true

require "json"
require_relative "call"
require_relative "../../suites/rpc"
require "plait/lab"

module Plait
  module CLI
    class Rpc < Command
      # `plait rpc bench`
      class Bench < Command
        include Connecting

        # Calls of one method, for some seconds.
        class Load
          # Seconds before the measurement.
          WARM_UP = 0.1

          # The number of calls, the calls in a second, and the seconds of each.
          Found = Struct.new(:calls, :rate, :latencies)

          def initialize(client, method, arguments, seconds)
            @client = client
            @method = method
            @arguments = arguments
            @seconds = seconds
          end

          # @param count [Integer] threads that call, each one after another
          def by_threads(count)
            measured { |deadline| Array.new(count) { Thread.new { one_by_one(deadline) } }.flat_map { |one| quiet(one).value } }
          end

          # @param count [Integer] calls under way
          def in_flight(count) = measured { |deadline| many(count, deadline) }

          private

          def measured
            yield Deadline.after(WARM_UP)
            began = Deadline.now
            times = yield Deadline.after(@seconds)
            Found.new(times.size, times.size / (Deadline.now - began), Plait::Lab::Statistics.new(times))
          end

          # Its error is raised where it is joined.
          def quiet(thread) = thread.tap { thread.report_on_exception = false }

          def one_by_one(deadline)
            times = []
            loop do
              began = Deadline.now
              @client.call(@method, *@arguments)
              times << (Deadline.now - began)
              return times if deadline.expired?
            end
          end

          def many(count, deadline)
            under_way = Array.new(count) { begin_call }
            times = []
            until under_way.empty?
              future, began = under_way.shift
              future.value
              times << (Deadline.now - began)
              under_way << begin_call unless deadline.expired?
            end
            times
          end

          def begin_call
            began = Deadline.now
            [@client.call_async(@method, *@arguments), began]
          end
        end

        THREADS = 16
        SECONDS = 2.0
        IN_FLIGHT = 64
        COLUMNS = ["", "calls", "calls/s", "median", "90 %", "99 %", "longest"].freeze
        PERCENTILES = { p50: 50, p90: 90, p99: 99, max: 100 }.freeze

        def call
          @threads = options["threads"] ? Arguments.count("--threads", options["threads"]) : THREADS
          @seconds = options["seconds"] ? Arguments.positive("--seconds", options["seconds"]) : SECONDS
          terminal.reserve_output if options["json"]
          url, method, *arguments = words
          url ? measure(url, method || "rpc.ping", arguments.map { |word| Values.parse(word) }) : measure_own
          ExitStatus::OK
        end

        private

        def measure_own
          on = (options["on"] || "threads").to_sym
          Suites::Rpc::Peer.open(on: on) { |peer| measure(peer.endpoint, "echo", [1]) }
        end

        def measure(url, method, arguments)
          with_client(url) do |client|
            load = Load.new(client, method, arguments, @seconds)
            figures = { "one after another" => load.by_threads(1), "#{@threads} threads, one client" => load.by_threads(@threads),
                        "#{IN_FLIGHT} in flight" => load.in_flight(IN_FLIGHT) }
            show("#{method} of #{url}", figures)
          end
        end

        def show(title, figures)
          lines = figures.map { |name, found| line(name, found) }
          grid = TextTable.new(COLUMNS, lines, alignments: [:left] + ([:right] * (COLUMNS.size - 1)), width: terminal.width)
          terminal.say(title, *grid.head, *grid.body.flatten)
          terminal.data("#{JSON.generate(record(title, figures))}\n") if options["json"]
        end

        def line(name, found)
          quantity = Quantity
          [name, quantity.count(found.calls), quantity.number(found.rate),
           *PERCENTILES.each_value.map { |percent| quantity.seconds(found.latencies.percentile(percent)) }]
        end

        def record(title, figures)
          rows = figures.map do |name, found|
            { label: name, calls: found.calls, calls_per_s: found.rate,
              latency_s: PERCENTILES.transform_values { |percent| found.latencies.percentile(percent) } }
          end
          { schema: 1, title: title, rows: rows }
        end
      end
    end
  end
end
