# frozen_string_literal: true

module Support
  class TestRun
    # Tells a line for each test file as it ends, everything about one that failed, and the totals.
    class Summary
      def initialize(out)
        @out = out
        @results = []
      end

      # @return [Boolean]
      def ok? = failed.empty?

      # @param result [Result]
      def add(result)
        @results << result
        @out.puts(line(result))
        @out.puts(result.output.gsub(/^/, "    "), *result.remarks.map { |remark| "    #{remark}" }) unless result.ok?
        @out.flush
      end

      # The last line is "N passed, N failed, N skipped", alone.
      def print(*remarks)
        print_skips
        @out.puts("", "failed:", *failed.map { |result| "  #{result.name}" }) unless ok?
        @out.puts("", *remarks, format("%.0f s of CPU", sum(&:cpu)),
                  "#{sum(&:passed)} passed, #{sum(&:failed)} failed, #{sum { _1.skipped.size }} skipped")
      end

      private

      def failed = @results.reject(&:ok?)

      def line(result)
        format("%-6s %-48s %4d tests, %d failed, %d skipped, %.1f s, CPU %.1f s", result.ok? ? "ok" : "FAILED", result.name,
               result.run, result.failed, result.skipped.size, result.seconds, result.cpu)
      end

      def print_skips
        reasons = @results.flat_map(&:skipped).group_by(&:last)
        return if reasons.empty?

        @out.puts("", "skipped:")
        reasons.each { |reason, tests| @out.puts("  #{tests.size} × #{reason.lines.first&.strip}") }
      end

      def sum(&count) = @results.sum(&count)
    end
  end
end
