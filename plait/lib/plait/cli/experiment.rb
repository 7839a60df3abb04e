# frozen_string_literal: true

require_relative "progress"
require_relative "../lab"
require_relative "../values/deadline"

module Plait
  module CLI
    # Measures workloads one after the other, shows how far it is, and keeps the reports when an error or Ctrl-C ends it.
    class Experiment
      # @return [Array<Lab::Report>]
      attr_reader :reports
      # @return [Exception, nil] what ended it before its time
      attr_reader :ended_by

      # @param workloads [Array<Lab::Workload>]
      # @param terminal [Terminal]
      # @param rounds [Integer]
      # @param seed [Integer, nil]
      # @param bound [Numeric] seconds until a trial counts as hung
      # @param budget [Numeric, nil] seconds for all of them
      def initialize(workloads, terminal, rounds:, bound: Plait::Lab::Session::BOUND, seed: nil, budget: nil)
        @workloads = workloads
        @rounds = rounds
        @bound = bound
        @seed = seed
        @deadline = Deadline.after(budget)
        @reports = []
        @progress = Progress.new(terminal, plan, rounds: rounds, budget: budget)
      end

      # @yieldparam report [Lab::Report] as soon as there is one
      # @return [void]
      def run(&show)
        @workloads.each_with_index do |workload, index|
          measure(workload, @workloads.size - index, &show)
          break if @ended_by
        end
      rescue Interrupt
        @ended_by = interrupt
      rescue StandardError => e
        @ended_by = e
      ensure
        @progress.stop
      end

      # @return [Boolean]
      def mismatch? = differing.any?

      # @return [String, nil] that results differ, or which rows failed
      def failure
        names = differing.map { |report| report.workload.name }
        return "the results differ between mechanisms (#{names.join(", ")})" if mismatch?

        failed = @reports.select(&:failed?).map { |report| "#{report.workload.name} (#{failed_rows(report)})" }
        "failed: #{failed.join(", ")}" if failed.any?
      end

      private

      def differing = @reports.select(&:mismatch?)

      # A step for each trial, and one for counting memory.
      def plan = @workloads.map { |workload| workload.cells.size * (@rounds + 1) }

      def measure(workload, still_to_run)
        session = Plait::Lab::Session.new(workload, rounds: @rounds, seed: @seed, budget: share(still_to_run),
                                                    bound: @bound, on_event: @progress)
        report = session.run
        @reports << report
        @ended_by = report.interrupted? ? interrupt : report.error
        @progress.aside { yield report }
      end

      def failed_rows(report) = report.rows.select(&:failed?).map(&:label).join("; ")

      def share(still_to_run) = @deadline && (@deadline.remaining / still_to_run)

      def interrupt
        found = measured? ? "above is what was measured" : "nothing was measured yet"
        Interrupt.new("interrupted after #{@progress.done} of #{@progress.total} steps; #{found}")
      end

      def measured? = @reports.any? { |report| report.tables.any? }
    end
  end
end
