# frozen_string_literal: true

require_relative "mismatch"

module Plait
  module Lab
    # Holds the results of rows against each other, before any speed is shown. A row may differ from itself, from round to
    # round: `sleep` returns 0 or 1 (whole seconds), and a body with a race gives what it gives. That is told, not refused.
    class Agreement
      # @param rows [Array<Row>]
      def initialize(rows)
        @rows = rows.select(&:measured?)
      end

      # @return [Array<Mismatch>] at most one for each group
      def mismatches = @mismatches ||= @rows.group_by(&:group).filter_map { |group, rows| mismatch(group, rows) }

      # @return [Boolean] no row of this group gave, in all its rounds, other results than the row it is held against
      def agreed?(group) = mismatches.none? { |mismatch| mismatch.group == group }

      # @return [Boolean] its results are as steady as those of the row it is held against
      def comparable?(row) = !suspects.include?(row)

      # @return [Array<String>] a sentence for each group with rows that differ from round to round
      def notices = @rows.group_by(&:group).filter_map { |group, rows| notice(group, rows) }

      private

      def notice(group, rows)
        moving = rows.reject { |row| steady?(row) }
        return if moving.empty?

        "#{"#{group}: " if group}the results of #{moving.map(&:label).join(", ")} differ from run to run, so they are not " \
          "compared: end the body with a value that every run gives (sleep returns 0 or 1)#{suspicion(moving)}"
      end

      def suspicion(moving)
        racing = (moving & suspects).map(&:label)
        "; those of other mechanisms don't, so #{racing.join(", ")} may have a race and are not ranked" if racing.any?
      end

      # @return [Array<Row>] unsteady ones, held against a steady one
      def suspects
        @suspects ||= @rows.group_by(&:group).values.flat_map do |rows|
          steady?(reference_of(rows)) ? rows.reject { |row| steady?(row) } : []
        end
      end

      def steady?(row) = row.measurements.map { |measurement| measurement.results.digest }.uniq.one?

      def mismatch(group, rows)
        reference = reference_of(rows)
        return unless steady?(reference)

        expected = reference.measurements.first.results
        strays = rows.select { |row| steady?(row) }.filter_map { |row| stray(row, expected) }
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
        other = row.measurements.first.results
        [row.label, other] unless other.digest == expected.digest
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
