# frozen_string_literal: true

require_relative "mismatch"

module Plait
  module Lab
    # Holds the results of rows against each other, before anybody looks at their speed.
    class Agreement
      # @param rows [Array<Row>]
      def initialize(rows)
        @rows = rows.select(&:measured?)
      end

      # @return [Array<Mismatch>] at most one for each group
      def mismatches = @mismatches ||= @rows.group_by(&:group).filter_map { |group, rows| mismatch(group, rows) }

      # @return [Boolean] the rows of this group gave the same results in every round
      def agreed?(group) = mismatches.none? { |mismatch| mismatch.group == group }

      private

      def mismatch(group, rows)
        reference = reference_of(rows)
        expected = reference.measurements.first.results
        strays = rows.filter_map { |row| stray(row, expected) }
        describe(group, reference, expected, strays) unless strays.empty?
      end

      # One after another in the caller is what every mechanism must agree with; without such a row, the most common
      # result.
      def reference_of(rows)
        rows.find { |row| row.on == :sequence } || most_common(rows)
      end

      def most_common(rows)
        rows.group_by { |row| row.measurements.first.results.digest }.values.max_by(&:size).first
      end

      def stray(row, expected)
        other = row.measurements.map(&:results).find { |results| results.digest != expected.digest }
        [row.label, other] if other
      end

      def describe(group, reference, expected, strays)
        found = strays.first.last
        index = expected.first_difference(found)
        Mismatch.new(group: group, reference: reference.label, differing: strays.map(&:first), index: index,
                     expected: index && expected.previews[index], found: index && found.previews[index])
      end
    end
  end
end
