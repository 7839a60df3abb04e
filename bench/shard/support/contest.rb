# frozen_string_literal: true

require_relative "../../harness/definition"
require_relative "../../harness/processors"

module Bench
  module Shard
    # What the cases have in common: who takes part, and what each does.
    class Contest
      CPU = Harness::Metric.cpu("request")
      WALL = Harness::Metric.wall("request")
      P99 = Harness::Metric.figure("p99_ms", unit: "ms")
      PEAK = Harness::Metric.figure("peak_mb", unit: "MB")
      METRICS = [CPU, WALL, P99, PEAK].freeze
      # Where the rate is given.
      PACED = [P99, Harness::Metric.figure("p50_ms", unit: "ms"), CPU].freeze

      # @param bench [Harness::Definition] with the size `requests`
      # @param words [Array<String>, nil] the command; __rand_int__ is another number each time
      # @param pipeline [Integer]
      # @param value [Integer, nil] bytes of the values that the keys are to have beforehand
      # @param keys [Integer] how many numbers there are
      # @param rate [Integer, nil] requests a second, of GET; nil: as many as there is time for
      def initialize(bench, words = nil, pipeline: 1, value: nil, keys: 10_000, rate: nil)
        @bench = bench
        @load = rate ? { rate: rate } : { words: words, pipeline: pipeline }
        @load.update(value: value, keys: keys)
      end

      # One thread more, where the machine has a processor for it.
      def threads
        @bench.plait { |trial| measure(trial, :TwoThreads) }
        @bench.peer("one thread") { |trial| measure(trial, :OneThread) }
      end

      # The direct way is a server's own time, without a proxy.
      def all
        @bench.plait { |trial| measure(trial, :Plait) }
        @bench.peer("nutcracker") { |trial| measure(trial, :Nutcracker) }
        # What it forwards may be at another node: no way to read what was written.
        @bench.peer("haproxy (TCP)") { |trial| measure(trial, :Haproxy) } unless @load.key?(:rate)
        @bench.floor("direct") { |trial| measure(trial, :Direct) }
      end

      private

      def measure(trial, contestant)
        require_relative "contestants"
        require_relative "paced_load"
        kind = @load.key?(:rate) ? PacedLoad : Load
        Contestants.const_get(contestant).open(Nodes.ports) { |proxy| kind.new(proxy, **@load).report(trial) }
      end
    end
  end
end
