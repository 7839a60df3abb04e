# frozen_string_literal: true

require_relative "definition"
require_relative "gem_paths"
require_relative "json_report"
require_relative "launcher"
require_relative "native"
require_relative "options"
require_relative "plan"
require_relative "report"
require_relative "../../plait/lib/plait/cli/exit_status"

module Bench
  module Harness
    # A run of one subject, from the command line to the reports.
    class Command
      include Plait::CLI::ExitStatus

      ROUNDS = 5
      QUICK_ROUNDS = 2
      ROOT = File.expand_path("../..", __dir__)

      # A subject that is a folder: a file a case beside its run.rb, and programs in C.
      # @param folder [String]
      # @return [Integer] the exit code
      def self.run(folder)
        Native.build_all(folder) # before anything is timed
        new(File.basename(folder), Dir[File.join(folder, "*.rb")] - [File.join(folder, "run.rb")], ARGV).run
      end

      # @param subject [String] its folder's name
      # @param files [Array<String>] of its cases
      # @param arguments [Array<String>] of the command line
      def initialize(subject, files, arguments)
        @subject = subject
        @files = files
        @arguments = arguments
      end

      # @return [Integer] the exit code
      def run
        prepare
        return usage("no case is named like #{@options.only.join(", ")}; there are:\n#{names}") if @cases.empty?

        measure
        finish(failed? ? FAILED : OK)
      rescue OptionParser::ParseError => e
        usage(e.message)
      rescue Interrupt
        finish(INTERRUPTED)
      end

      private

      def prepare
        @options = Options.parse(@subject, @arguments)
        Harness.quick = @options.quick
        @files.each { |file| require file }
        @cases = @options.select(Harness.cases)
        @ledgers = @cases.to_h { |bench_case| [bench_case, Ledger.new(bench_case)] }
        @gem_paths = GemPaths.new(ROOT)
        @plan = Plan.new(@cases, rounds: rounds, forced: @options.rounds || @options.quick, **seed)
        @done = 0
      end

      def seed = @options.seed ? { seed: @options.seed } : {}

      def rounds = @options.rounds || (@options.quick ? QUICK_ROUNDS : ROUNDS)

      def measure
        launcher = Launcher.new(@gem_paths, quick: @options.quick)
        @plan.each do |bench_case, contestant, round|
          progress(bench_case, contestant, round)
          ledger = @ledgers.fetch(bench_case)
          ledger.record(contestant, round, launcher.run(bench_case, contestant)) unless ledger.hung?(contestant)
        end
      ensure
        $stderr.print("\e[K") if $stderr.tty?
      end

      def progress(bench_case, contestant, round)
        @done += 1
        return unless $stderr.tty?

        $stderr.print("\r#{@done}/#{@plan.size} round #{round}: #{bench_case.name}, #{contestant.name}\e[K\r")
      end

      # Also after Ctrl-C: what was measured is shown.
      def finish(code)
        ledgers = @ledgers.to_h.values
        report = Report.new(environment, ledgers)
        puts report
        reports = { @options.json => -> { JsonReport.new(@subject, environment, ledgers).to_json },
                    @options.markdown => -> { report.page(@subject) } }.reject { |file, _| file.nil? }
        reports.all? { |file, text| write(file, text.call) } ? code : CANT_CREATE
      end

      def write(file, text)
        File.write(file, text)
      rescue SystemCallError => e
        warn "bin/bench: the report can't be written to #{file}: #{e.message}"
        false
      end

      # A peer that is missing or fails is told in its row; what makes the run fail is Plait, or results that differ.
      def failed? = @ledgers.each_value.any? { |ledger| ledger.mismatch? || ledger.plait_failed? }

      # The machine, the versions and the command that the report belongs to.
      def environment
        command = ["bin/bench", @subject, *@arguments].join(" ")
        Plait::Lab::Environment.facts.merge(gems: versions, compiler: Native.compiler, command: command, rounds: rounds,
                                            seed: @plan.seed)
      end

      def versions
        gems = @cases.flat_map(&:contestants).flat_map(&:gems).uniq.sort
        gems.to_h { |name| [name, @gem_paths.version(name) || "missing"] }
      end

      def names = Harness.cases.map { |bench_case| "  #{bench_case.name}" }.join("\n")

      def usage(message)
        warn "bin/bench #{@subject}: #{message}"
        USAGE
      end
    end
  end
end
