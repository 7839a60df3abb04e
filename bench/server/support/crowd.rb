# frozen_string_literal: true

require "json"
require_relative "../../harness/native"
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
        program = Harness::Native.build(SOURCE)
        arguments = [port, connections, (ramp * 1e3).round, requests, seconds].map(&:to_s)
        io = IO.popen([*Harness::Processors.for_origin, program, *arguments], "r+")
        yield report(io, seconds + Generator::GRACE)
      ensure
        Process.kill(:KILL, io.pid) if io
        io&.close
      end

      def self.report(io, seconds)
        raise "the crowd did not end in time" unless IO.select([io], nil, nil, seconds)

        Report.new(**JSON.parse(io.gets || raise("the crowd was not answered"), symbolize_names: true))
      end
      private_class_method :report
    end
  end
end
