# frozen_string_literal: true

require "plait/suites/common/suite"
require "plait/lab"
require "plait/values/errors"
require "plait/values/outcome"
require_relative "conversation"
require_relative "observed"

module Plait
  module Suites
    class Shard < Suite
      # Runs the trials of a cell: one client, whose commands go one way, while the process on that way is watched.
      class Trial
        # After the last answer, until memory is looked at again.
        REST = 1.0
        private_constant :REST

        # @return [Proc] => the addresses of the servers, once they are there
        attr_reader :addresses

        # @param way [Way]
        # @param task [#exchanges]
        # @param addresses [Proc]
        def initialize(way, task, addresses)
          @way = way
          @task = task
          @addresses = addresses
        end

        # @param cell [Lab::Cell]
        # @param bound [Numeric] seconds
        # @return [Lab::Measurement]
        def call(cell, bound: Lab::Session::BOUND, **)
          @way.open(@addresses.call) do |port, pid|
            Conversation.open(port, bound) { |client| measure(cell, client, Observed.new(pid)) }
          end
        rescue TimeoutError
          Lab::Measurement.failed(cell.label, "it was not done after #{bound.round(2)} s (bound: how long it may take)", :hung)
        rescue Error, SystemCallError, IOError => e
          Lab::Measurement.failed(cell.label, e.message)
        end

        private

        def measure(cell, client, process)
          exchanges = @task.exchanges
          client.call("ECHO", "warm") # the connection is there before memory is looked at
          before = process.memory
          process.forget_peak
          cpu = process.cpu
          times = exchanges.map { |exchange| client.time(exchange) }
          used = process.cpu - cpu
          peak = process.peak
          sleep(REST)
          measurement(cell, times, used, before: before, peak: peak, after: process.memory)
        end

        def measurement(cell, times, cpu, before:, peak:, after:)
          Lab::Measurement.new(label: cell.label, engine: RUBY_ENGINE, items: times.size, wall: times.sum, cpu: cpu,
                               latencies: times.sort, peak: [peak - before, 0].max, peak_source: :resident, errors: 0,
                               own: { "before_bytes" => before, "after_bytes" => after - before }, results: results)
        end

        # Each answer was looked at when it came.
        def results
          bytes = @task.exchanges.sum(&:bytes)
          Lab::ResultDigest.new([Outcome.new(index: 0, item: nil, value: bytes)])
        end
      end
    end
  end
end
