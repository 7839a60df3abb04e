# frozen_string_literal: true

require_relative "../../harness/native_process"
require_relative "../../harness/processors"
require_relative "generator"

module Bench
  module Server
    # Thousands of connections, see crowd.c.
    class Crowd
      SOURCE = File.expand_path("../crowd.c", __dir__)

      # What it has seen: `answered` connections at least once; `least` and `most` answers on one of them.
      Report = Struct.new(:answered, :errors, :least, :most, :requests, :seconds, :p99_ms, keyword_init: true)

      # @param port [Integer]
      # @param connections [Integer]
      # @param requests [Integer] of each, on the average
      # @param seconds [Numeric] at most
      # @param ramp [Numeric] seconds over which they are opened
      # @yieldparam report [Report] while the connections are still there, and idle
      # @return [Object] what the block returns
      # @raise [RuntimeError]
      def self.gather(port, connections:, requests:, seconds:, ramp: 0)
        crowd = Harness::NativeProcess.new(SOURCE, port, connections, (ramp * 1e3).round, requests, seconds,
                                           place: Harness::Processors.for_origin)
        yield Report.new(**crowd.figures(seconds + Generator::GRACE).transform_keys(&:to_sym))
      ensure
        crowd&.kill
      end
    end
  end
end
