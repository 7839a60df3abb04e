# frozen_string_literal: true

module Plait
  module Lab
    # Finds the fastest row of each group. A group whose results differ has none: a fast wrong answer is no answer.
    class Ranking
      # @param rows [Array<Row>]
      # @param agreement [Agreement]
      def initialize(rows, agreement)
        @rows = rows
        @agreement = agreement
      end

      # Tells each row which one it is compared with.
      # @return [void]
      def apply
        contenders = @rows.select { |row| row.measured? && @agreement.agreed?(row.group) && @agreement.comparable?(row) }
        contenders.group_by(&:group).each_value do |group|
          fastest = group.min_by { |row| row.wall.median }
          group.each { |row| row.fastest = fastest }
        end
      end
    end
  end
end
