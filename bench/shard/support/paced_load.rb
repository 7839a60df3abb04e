# frozen_string_literal: true

require "open3"
require_relative "../../harness/native"
require_relative "load"

module Bench
  module Shard
    # GETs at a rate that is the same for all, on the processor of the nodes; what counts is how long they take.
    class PacedLoad < Load
      SOURCE = File.expand_path("../pacer.c", __dir__)

      # @param rate [Integer] requests a second
      # @param options [Hash] see {Load}
      def initialize(proxy, rate:, **options)
        super(proxy, words: [], pipeline: 1, **options)
        @rate = rate
      end

      private

      # @return [Hash{String => Numeric}] as those of redis-benchmark
      def run(requests)
        output, status = Open3.capture2(*Harness::Processors.for_origin, Harness::Native.program_for(SOURCE), @proxy.port.to_s,
                                        CLIENTS.to_s, @rate.to_s, requests.to_s, @value.to_s, @keys.to_s)
        raise "the load generator failed: #{status}" unless status.success?

        half, most, = output.split.map { |number| Float(number) / 1e3 }
        { "p50_latency_ms" => half, "p99_latency_ms" => most }
      end
    end
  end
end
