# frozen_string_literal: true

require "plait/cli/command"
require_relative "histogram"

module Plait
  module CLI
    class Fetch < Command
      # What a run has brought, in numbers.
      class Tally
        # @return [Integer] lines with a success, and with a failure
        attr_reader :ok, :failed
        # @return [Integer] bytes of bodies
        attr_reader :bytes
        # @return [Integer] requests made again
        attr_accessor :again
        # @return [Integer] links that a robots.txt does not allow
        attr_accessor :disallowed
        # @return [Hash{Integer => Integer}] answers by status
        attr_reader :statuses
        # @return [Hash{String => Integer}] failures by kind
        attr_reader :errors
        # @return [Histogram] from the beginning of a request to the end of its answer
        attr_reader :latency

        def initialize
          @ok = @failed = @bytes = @again = @disallowed = 0
          @statuses = Hash.new(0)
          @errors = Hash.new(0)
          @latency = Histogram.new
        end

        # @param result [Result]
        # @return [void]
        def add(result)
          result.ok? ? @ok += 1 : fail_with(result.kind)
          @bytes += result.bytes
          return unless result.status

          @statuses[result.status] += 1
          @latency.add(result.seconds)
        end

        # A failure without a request.
        # @param kind [String]
        # @return [void]
        def fail_with(kind)
          @failed += 1
          @errors[kind] += 1
        end

        # @return [Integer]
        def total = @ok + @failed
      end
    end
  end
end
