# frozen_string_literal: true

require "digest"

module Plait
  module Lab
    # Says whether two runs of the same items gave the same results, and which item differs first. It keeps no results.
    class ResultDigest
      # Longer previews are cut, and items from this one on have none: they only serve to show the first difference.
      PREVIEW_CHARACTERS = 120
      PREVIEWS = 1_000
      # Bytes kept of each item's digest: by accident two of a million items agree once in 10^7 runs.
      FINGERPRINT_BYTES = 8
      private_constant :PREVIEWS, :FINGERPRINT_BYTES

      # @return [String] equal when the results are
      attr_reader :digest
      # @return [Array<String>] of the first items
      attr_reader :previews

      # @param outcomes [Array<Outcome>] in input order
      # @param custom [Proc, nil] results => comparable String. Called once with all results, and once for each as an
      #   Array of one, to find the first that differs.
      def initialize(outcomes, custom = nil)
        @fingerprints = outcomes.map { |outcome| fingerprint(outcome, custom) }.join
        @previews = outcomes.first(PREVIEWS).map { |outcome| preview(outcome) }
        @digest = custom ? overall(outcomes, custom) : Digest::SHA256.hexdigest(@fingerprints)
      end

      # @return [Integer] how many results
      def size = @fingerprints.bytesize / FINGERPRINT_BYTES

      # @return [Integer, nil] the first item whose results differ; nil when each one agrees
      def first_difference(other)
        common = [size, other.size].min
        (0...common).find { |index| at(index) != other.at(index) } || (common unless size == other.size)
      end

      # @return [String] the fingerprint of one item
      def at(index) = @fingerprints.byteslice(index * FINGERPRINT_BYTES, FINGERPRINT_BYTES)

      private

      def overall(outcomes, custom)
        failed, succeeded = outcomes.partition(&:error)
        "#{digest_of(custom, succeeded.map(&:value))}#{failed.map { |outcome| [outcome.index, outcome.error.class.name] }}"
      end

      def digest_of(custom, results)
        custom.call(results)
      rescue StandardError => e
        raise UsageError, "the digest of the results raised #{Text.of_error(e)}"
      end

      def fingerprint(outcome, custom)
        bytes = outcome.error ? "error #{outcome.error.class}" : content(outcome.value, custom)
        Digest::SHA256.digest(bytes).byteslice(0, FINGERPRINT_BYTES)
      end

      def content(value, custom)
        custom ? digest_of_one(custom, value) : Marshal.dump(value)
      rescue TypeError
        # A Proc, an IO, a class without a name: compared by what they print, without their addresses (JRuby's may be short).
        value.inspect.gsub(/:0x\h+/, ":0x")
      end

      # A digest that takes the results as a whole names no single item.
      def digest_of_one(custom, value)
        custom.call([value]).to_s
      rescue StandardError
        ""
      end

      def preview(outcome)
        text = outcome.error ? Text.of_error(outcome.error) : Text.clean(shown(outcome.value))
        text.size > PREVIEW_CHARACTERS ? "#{text[0, PREVIEW_CHARACTERS]}…" : text
      end

      # A result of many megabytes is not printed whole to show its beginning.
      def shown(value) = value.is_a?(String) ? value.byteslice(0, PREVIEW_CHARACTERS * 4).inspect : value.inspect
    end

    # Rows of one group that should have given the same results and did not.
    #
    # - `group` as the cells name it
    # - `reference` the label of the row that the others are held against, `differing` the labels of the rows that differ
    # - `index` of the first item that differs, nil when only the whole does
    # - `expected`, `found` the beginning of both results there
    Mismatch = Struct.new(:group, :reference, :differing, :index, :expected, :found, keyword_init: true) do
      def to_s = "#{differing.join(", ")} gave other results than #{reference}#{place}"

      private

      def place
        return "" unless index

        "; the first that differs is item #{index}: #{expected} there, #{found} in #{differing.first}"
      end
    end

    # Compares the results of rows before any speed is shown. A row may differ from round to round: `sleep` returns 0 or 1
    # (whole seconds), and a body with a race gives random results. The report says so.
    class Agreement
      def initialize(rows)
        @rows = rows.select(&:measured?)
      end

      # @return [Array<Mismatch>] at most one for each group
      def mismatches = @mismatches ||= @rows.group_by(&:group).filter_map { |group, rows| mismatch(group, rows) }

      # @return [Boolean] no row of this group gave, in all its rounds, other results than the row it is held against
      def agreed?(group) = mismatches.none? { |mismatch| mismatch.group == group }

      # @return [Boolean] its results are as steady as the results of the row it is held against
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
        "; the results of other mechanisms don't, so #{racing.join(", ")} may have a race and are not ranked" if racing.any?
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
        deviating = rows.select { |row| steady?(row) }.filter_map { |row| deviation(row, expected) }
        describe(group, reference, expected, deviating) unless deviating.empty?
      end

      # Each mechanism must agree with the sequence; without such a row, with the most common result.
      def reference_of(rows) = rows.find { |row| row.on == :sequence } || most_common(rows)

      def most_common(rows) = rows.group_by { |row| row.measurements.first.results.digest }.values.max_by(&:size).first

      def deviation(row, expected)
        other = row.measurements.first.results
        [row.label, other] unless other.digest == expected.digest
      end

      def describe(group, reference, expected, deviating)
        found = deviating.first.last
        index = expected.first_difference(found)
        Mismatch.new(group: group, reference: reference.label, differing: deviating.map(&:first), index: index,
                     expected: index && expected.previews[index], found: index && found.previews[index])
      end
    end

    private_constant :Agreement
  end
end
