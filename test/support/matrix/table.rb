# frozen_string_literal: true

module Support
  class Matrix
    # A row for each Ruby, then what failed and why tests were skipped.
    class Table
      COLUMNS = "%-26s %7s %7s %8s %8s%s"

      # @param rows [Array<Row>]
      # @param missing [Array<String>] Rubies that are not here
      def initialize(rows, missing = [])
        @rows = rows
        @missing = missing
      end

      def print(out)
        out.puts("", format(COLUMNS, "", "passed", "failed", "skipped", "seconds", ""), *@rows.map { |row| line(row) })
        out.puts("not here: #{@missing.join(", ")}. PLAIT_RUBIES=/path/to/bin/ruby names a Ruby") if @missing.any?
        out.puts("", "failed:", *lines(:files)) if lines(:files).any?
        out.puts("", "skipped:", *lines(:reasons)) if lines(:reasons).any?
      end

      private

      def line(row)
        counts = [row.passed, row.failed, row.skipped, row.seconds].map { |count| count || "–" }
        format(COLUMNS, row.name, *counts, ("  #{row.remark}" if row.remark))
      end

      # What several Rubies have in common is one line.
      def lines(kind)
        rubies = Hash.new { |all, text| all[text] = [] }
        @rows.each { |row| row[kind].each { |text| rubies[text] << row.name } }
        rubies.map { |text, names| "  #{text} (#{names.size == @rows.size ? "each Ruby" : names.join(", ")})" }
      end
    end
  end
end
