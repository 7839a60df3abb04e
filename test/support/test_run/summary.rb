# frozen_string_literal: true

module Support
  class TestRun
    # Tells a line for each test file as it ends, everything about one that failed, and the totals.
    class Summary
      def initialize(out)
        @out = out
        @results = {}
        @unsteady = []
      end

      # @return [Boolean]
      def ok? = failed.empty?

      # @return [Array<String>] the names of files
      def failed = results.reject(&:ok?).map(&:name)

      # @param names [Array<String>] of files that are run a second time
      def announce_again(names) = @out.puts("", "once more, by themselves: #{names.join(", ")}")

      # @param result [Result] that of a second run takes the place of the first
      def add(result)
        @unsteady << result.name if result.ok? && @results.key?(result.name)
        @results[result.name] = result
        @out.puts(line(result))
        @out.puts(result.output.gsub(/^/, "    "), *result.remarks.map { |remark| "    #{remark}" }) unless result.ok?
        @out.flush
      end

      # The last line is "N passed, N failed, N skipped", alone.
      def print(*remarks)
        print_skips
        print_files("unsteady, a fault to be found (they failed, and passed when they were run once more):", @unsteady)
        print_files("failed:", failed)
        @out.puts("", *remarks, format("%.0f s of CPU", sum(&:cpu)),
                  "#{sum(&:passed)} passed, #{sum(&:failed)} failed, #{sum { _1.skipped.size }} skipped")
      end

      private

      def results = @results.values

      def print_files(title, names)
        @out.puts("", title, *names.map { |name| "  #{name}" }) if names.any?
      end

      def line(result)
        format("%-6s %-48s %4d tests, %d failed, %d skipped, %.1f s, CPU %.1f s", result.ok? ? "ok" : "FAILED", result.name,
               result.run, result.failed, result.skipped.size, result.seconds, result.cpu)
      end

      def print_skips
        reasons = results.flat_map(&:skipped).group_by(&:last)
        return if reasons.empty?

        @out.puts("", "skipped:")
        reasons.each { |reason, tests| @out.puts("  #{tests.size} × #{reason.lines.first&.strip}") }
      end

      def sum(&count) = results.sum(&count)
    end
  end
end
