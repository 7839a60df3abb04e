# frozen_string_literal: true

require_relative "plots/bars"
require_relative "plots/curves"

module Plait
  module Lab
    # The drawings of one report.
    module Plots
      KINDS = [Time, Throughput, Latency, PeakMemory, Allocations, Timelines].freeze

      module_function

      # @param report [Report]
      # @return [Array<Plot>] those that have something to show; none of a group whose results differ
      def of(report)
        rows = report.rows.select { |row| row.measured? && report.agreed?(row.group) }
        return [] if rows.empty?

        KINDS.flat_map { |kind| kind.new(rows, report.workload.unit).plots }
      end
    end
  end
end
