# frozen_string_literal: true

require_relative "terminal"
require_relative "../atomic_file"
require_relative "../lab"
require_relative "../values/errors"

module Plait
  module CLI
    # Writes the reports: JSON and CSV to standard output or a file, HTML to a file.
    class Outputs
      STANDARD_OUTPUT = "-"

      # @param json [String, nil] a path, "-" for standard output, nil for none
      # @param csv [String, nil] likewise
      # @param html [String, nil] a path, nil for none
      # @raise [UsageError] when two of them would get mixed up
      # @raise [WriteError] when there is no such folder, or none to write to: raised before minutes of measuring
      def initialize(terminal, json: nil, csv: nil, html: nil)
        @terminal = terminal
        @json = json
        @csv = csv
        @html = html
        check
        terminal.reserve_output if [json, csv].include?(STANDARD_OUTPUT)
      end

      # Writes all reports, the ones for standard output first.
      # @return [Array<Exception>] one for each report that could not be written
      def write(reports)
        return [] if reports.empty?

        set = Plait::Lab::ReportSet.new(reports)
        destinations.filter_map { |path, format| put(path, set, format) }
      end

      private

      def check
        raise UsageError, "--json and --csv can't both go to standard output: name a file for one" if both?

        files = [@json, @csv, @html].compact - [STANDARD_OUTPUT]
        twice = files.find { |path| files.count { |other| File.expand_path(other) == File.expand_path(path) } > 1 }
        raise UsageError, "#{twice} would be written twice: name another file for --json, --csv or --html" if twice

        files.each { |path| AtomicFile.check(path) }
      end

      def both? = [@json, @csv].all?(STANDARD_OUTPUT)

      def destinations
        wanted = [[@json, :to_json], [@csv, :to_csv], [@html, :to_html]].select(&:first)
        wanted.partition { |path, _| path == STANDARD_OUTPUT }.flatten(1)
      end

      # @return [Exception, nil] what went wrong
      def put(path, set, format)
        text = set.public_send(format)
        return standard_output(text) if path == STANDARD_OUTPUT

        AtomicFile.write(path, text)
        @terminal.say("report: #{path}")
        nil
      rescue WriteError, Terminal::Closed, Terminal::Unwritable => e
        e
      end

      def standard_output(text)
        @terminal.data(text.end_with?("\n") ? text : "#{text}\n")
        nil
      end
    end
  end
end
