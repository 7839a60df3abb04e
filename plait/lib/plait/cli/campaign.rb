# frozen_string_literal: true

require_relative "arguments"
require_relative "exit_status"
require_relative "experiment"
require_relative "failure"
require_relative "outputs"
require_relative "../mechanisms"
require_relative "../values/errors"

module Plait
  module CLI
    # What `plait lab` and `plait compare` have in common: from options to tables, reports and an exit status. A
    # subclass says which workloads.
    class Campaign
      # @param terminal [Terminal]
      # @param words [Array<String>] the words that are no options
      # @param options [Hash] by option name, as Strings
      def initialize(terminal, words, options)
        @terminal = terminal
        @words = words
        @options = options
      end

      # @return [Integer] an exit status
      # @raise [UsageError] before anything was run
      def call
        terminal.quiet = options["quiet"]
        outputs = Outputs.new(terminal, **%w[json csv html].to_h { |name| [name.to_sym, path(name)] })
        experiment = Experiment.new(workloads, terminal, **manner)
        experiment.run { |report| show(report, first: experiment.reports.one?) }
        conclude(experiment, outputs)
      end

      private

      attr_reader :terminal, :words, :options

      # @return [Array<Lab::Workload>]
      # @raise [UsageError]
      def workloads = raise(NotImplementedError, "#{self.class}#workloads")

      def manner
        { rounds: Arguments.count("--rounds", options["rounds"]),
          seed: given("seed") { |text| Arguments.integer("--seed", text) },
          bound: Arguments.positive("--bound", options["bound"]),
          budget: given("budget") { |text| Arguments.positive("--budget", text) } }
      end

      # @return [String, nil] what to do where the results differ
      def remedy = nil

      # @return [Object, nil] what the block makes of an option; nil without the option
      def given(name)
        value = options[name]
        value.nil? ? nil : yield(value)
      end

      def path(name) = given(name) { |text| Arguments.text("--#{name}", text) }

      def mechanisms = given("on") { |text| Arguments.mechanisms("--on", text, Mechanisms.names) }

      def limits = given("limit") { |text| Arguments.limits("--limit", text) }

      # The environment stands once, on top.
      def show(report, first:)
        terminal.say(*report.lines(width: terminal.width, environment: first, paint: terminal.method(:paint)))
      end

      # The reports are saved also after an error; of several problems the first one gives the exit status.
      def conclude(experiment, outputs)
        unsaved = outputs.write(experiment.reports)
        problems = [experiment.ended_by, failure(experiment), *unsaved].compact
        problems.map { |problem| Failure.new(problem).tell(terminal) }.find(&:positive?) || ExitStatus::OK
      end

      def failure(experiment)
        sentence = experiment.failure or return
        Error.new([sentence, *(remedy if experiment.mismatch?)].join(". "))
      end
    end
  end
end
