# frozen_string_literal: true

require_relative "../failure"
require_relative "../outputs"
require_relative "../../atomic_file"
require_relative "../../lab"

module Plait
  module CLI
    class Lab < Command
      # What was measured before: shows a saved report again, or two side by side.
      class Saved
        # Options that say how to measure.
        MEASURING = %w[on limit scale requests latency url full sizes rounds budget seed].freeze
        # Options that take a file where one follows.
        WRITING = %w[markdown json csv html].freeze

        # @param words [Array<String>] "report" or "diff", then files
        def initialize(terminal, words, options)
          @terminal = terminal
          @what, *@files = words
          @wanted = SAVED.fetch(@what)
          @options = options
        end

        # @return [Integer] an exit status
        def call
          check
          sets = @files.map { |path| Plait::Lab::ReportSet.load(path) }
          @what == "report" ? report(sets.first) : difference(*sets)
        end

        private

        attr_reader :terminal, :options

        def check
          take_back
          useless = MEASURING.find { |name| options[name] }
          raise UsageError, "--#{useless} has no effect on what was measured before" if useless
          return check_outputs if @files.size == @wanted

          raise UsageError,
                "plait lab #{@what} takes #{@wanted} file#{"s" if @wanted > 1}, not #{@files.size}: #{usage}"
        end

        # `plait lab report --markdown a.json` means the file, not where to write to.
        def take_back
          return unless @files.size == @wanted - 1

          name = WRITING.find { |one| options[one].to_s.end_with?(".json") } or return
          unless @what == "report" && name != "html"
            raise UsageError, "--#{name} has taken #{options[name]}: put it behind the files, as in #{usage} --#{name}"
          end

          @files << options[name]
          options[name] = Outputs::STANDARD_OUTPUT
        end

        def usage = ["plait lab", @what, *["FILE.json"] * @wanted].join(" ")

        # What was measured must not be lost.
        def check_outputs
          given = WRITING.filter_map { |name| options[name] } - [Outputs::STANDARD_OUTPUT]
          lost = given.find { |path| @files.any? { |file| File.expand_path(file) == File.expand_path(path) } }
          raise UsageError, "#{lost} would be overwritten: name another file" if lost
          return unless @what == "diff" && (name = %w[json csv].find { |one| options[one] })

          raise UsageError, "--#{name} has no effect on plait lab diff, which prints text or --markdown"
        end

        def report(set)
          outputs = Outputs.new(terminal) { |name| options[name]&.then { |text| Arguments.text("--#{name}", text) } }
          terminal.say(*set.lines(tables: options["tables"] || false, **manner), *set.warnings)
          outputs.write(set.records).map { |problem| Failure.new(problem).tell(terminal) }.find(&:positive?) || ExitStatus::OK
        end

        def difference(before, after)
          path = options["markdown"]
          lines = Plait::Lab::Difference.new(before, after).lines(markdown: !path.nil?, **manner)
          unless path.nil? || path == Outputs::STANDARD_OUTPUT
            AtomicFile.write(path, "#{lines.join("\n")}\n")
            lines = ["report: #{path}"]
          end
          terminal.say(*lines)
          ExitStatus::OK
        end

        def manner = { width: terminal.width, paint: terminal.method(:paint) }
      end
    end
  end
end
