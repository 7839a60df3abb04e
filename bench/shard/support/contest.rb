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

      # @param bench [Harness::Definition] with the size `requests`
      # @param words [Array<String>] the command; __rand_int__ is another number each time
      # @param pipeline [Integer]
      # @param value [Integer, nil] bytes of the values that the keys are to have beforehand
      # @param keys [Integer] how many numbers there are
      def initialize(bench, words, pipeline: 1, value: nil, keys: 10_000)
        @bench = bench
        @load = { words: words, pipeline: pipeline, value: value, keys: keys }
      end

      # The direct way is a server's own time, without a proxy.
      def all
        @bench.plait { |trial| measure(trial, :Plait) }
        @bench.peer("nutcracker") { |trial| measure(trial, :Nutcracker) }
        @bench.peer("haproxy (TCP)") { |trial| measure(trial, :Haproxy) }
        @bench.floor("direct") { |trial| measure(trial, :Direct) }
      end

      private

      def measure(trial, contestant)
        require_relative "contestants"
        require_relative "load"
        Contestants.const_get(contestant).open(Nodes.ports) { |proxy| Load.new(proxy, **@load).report(trial) }
      end
    end
  end
end
