# frozen_string_literal: true

require "plait/suites/common/suite"
require "plait/lab"
require_relative "classic_tables"

module Plait
  module Suites
    class Rpc < Suite
      # A workload whose report is the classic one: see {ClassicTables}.
      class ClassicWorkload < Lab::Workload
        # @param sizes [Hash{String => Integer}] megabytes of each group
        # @param ways [Hash{Lab::Cell => String}]
        # @param local [String]
        def initialize(sizes:, ways:, local:, **options)
          super(**options)
          @sizes = sizes
          @ways = ways
          @local = local
        end

        # @return [Array<Lab::Table>]
        def tables(rows) = classic(rows).all

        # @return [Array<String>]
        def verdict(rows)
          averages = classic(rows).averages.reject { |way, _| way == @local }
          return [] if averages.empty?

          shares = averages.sort_by { |_, share| -share }.map { |way, share| "#{way} #{format("%.2f", share)} ×" }
          ["On average over the sizes, of what #{@local} moves in a second: #{shares.join(", ")}."]
        end

        private

        def classic(rows) = ClassicTables.new(rows, @sizes, @ways, @local)
      end
    end
  end
end
