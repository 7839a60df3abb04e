# frozen_string_literal: true

module Plait
  class Server
    class Watch
      # How many times something took how long.
      class Buckets
        # Seconds, each the most that belongs into its bucket.
        BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10].freeze

        def initialize
          @counts = Array.new(BOUNDS.size + 1, 0)
          @sum = 0.0
        end

        # @param seconds [Float]
        # @return [void]
        def add(seconds)
          @counts[BOUNDS.bsearch_index { |bound| seconds <= bound } || BOUNDS.size] += 1
          @sum += seconds
        end

        # @return [Hash] `counts:` (index of the bucket => how many), and `sum:` in seconds
        def to_h = { counts: @counts.each_with_index.to_h { |count, index| [index, count] }, sum: @sum }
      end
    end
  end
end
