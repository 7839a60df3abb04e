# frozen_string_literal: true

require "json"
require "plait/lab"
require_relative "../../suites/rpc"
require "plait/cli/arguments"
require "plait/cli/command"
require "plait/cli/exit_status"
require "plait/cli/grid"
require_relative "bench/load"
require_relative "connecting"
require_relative "values"

module Plait
  module CLI
    class Rpc < Command
      # `plait rpc bench`
      class Bench
        include Connecting

        THREADS = 16
        SECONDS = 2.0
        IN_FLIGHT = 64
        COLUMNS = ["", "calls", "calls/s", "median", "90 %", "99 %", "longest"].freeze
        PERCENTILES = { p50: 50, p90: 90, p99: 99, max: 100 }.freeze

        # @param terminal [Terminal]
        # @param words [Array<String>] URL, method and arguments
        # @param options [Hash]
        def initialize(terminal, words, options)
          @terminal = terminal
          @url, @method, *@arguments = words
          @options = options
          @threads = options["threads"] ? Arguments.count("--threads", options["threads"]) : THREADS
          @seconds = options["seconds"] ? Arguments.positive("--seconds", options["seconds"]) : SECONDS
        end

        # @return [Integer] an {ExitStatus}
        # @raise [UsageError, RemoteError, ConnectionError, TimeoutError]
        def call
          @terminal.reserve_output if options["json"]
          @url ? measure(@url, @method || "rpc.ping", @arguments.map { |word| Values.parse(word) }) : measure_own
          ExitStatus::OK
        end

        private

        attr_reader :options

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
          grid = Grid.new(COLUMNS, lines, alignments: [:left] + ([:right] * (COLUMNS.size - 1)), width: @terminal.width)
          @terminal.say(title, *grid.head, *grid.body.flatten)
          @terminal.data("#{JSON.generate(record(title, figures))}\n") if options["json"]
        end

        def line(name, found)
          quantity = Plait::Lab::Quantity
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
