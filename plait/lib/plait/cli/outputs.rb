# frozen_string_literal: true

require_relative "terminal"
require_relative "../atomic_file"
require_relative "../lab"

module Plait
  module CLI
    # Writes the reports: JSON, CSV and Markdown to standard output or a file, HTML to a file.
    class Outputs
      STANDARD_OUTPUT = "-"
      # Option => what makes its text.
      FORMATS = { json: :to_json, csv: :to_csv, markdown: :to_markdown, html: :to_html }.freeze

      # @yieldparam name [String] of an option
      # @yieldreturn [String, nil] its value: a path, "-" for standard output, nil for none
      # @raise [UsageError] when two of them would get mixed up
      # @raise [WriteError] when there is no such folder, or none to write to: raised before minutes of measuring
      def initialize(terminal)
        @terminal = terminal
        @paths = FORMATS.keys.to_h { |name| [name, yield(name.to_s)] }.compact
        check
        terminal.reserve_output if @paths.value?(STANDARD_OUTPUT)
      end

      # Writes all reports, the ones for standard output first.
      # @param reports [Array<#to_h>] reports, or their records
      # @return [Array<Exception>] one for each report that could not be written
      def write(reports)
        return [] if reports.empty?

        set = Plait::Lab::ReportSet.new(reports)
        destinations.filter_map { |path, format| put(path, set, format) }
      end

      private

      def check
        one, other = @paths.select { |_, path| path == STANDARD_OUTPUT }.keys
        raise UsageError, "--#{one} and --#{other} can't both go to standard output: name a file for one" if other

        files = @paths.values - [STANDARD_OUTPUT]
        twice = files.find { |path| files.count { |other| File.expand_path(other) == File.expand_path(path) } > 1 }
        raise UsageError, "#{twice} would be written twice: name another file for one of the options" if twice

        files.each { |path| AtomicFile.check(path) }
      end

      def destinations
        @paths.map { |name, path| [path, FORMATS.fetch(name)] }.partition { |path, _| path == STANDARD_OUTPUT }.flatten(1)
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
