# frozen_string_literal: true

require_relative "failure"
require_relative "outputs"
require_relative "terminal"
require_relative "../lab"
require_relative "../mechanisms"
require_relative "progress_bar"

module Plait
  module CLI
    # Follows the sessions of an experiment and says how far it is: a bar on a terminal, else a line now and then.
    class Progress
      # @param plan [Array<Integer>] steps of each session, in their order
      # @param rounds [Integer, nil] for the words; nil: open
      # @param budget [Numeric, nil] seconds after which no further round begins
      def initialize(terminal, plan, rounds:, budget: nil)
        @plan = plan.dup
        @rounds = rounds
        @ends = Deadline.after(budget)
        @began = Deadline.now
        @session = 0
        @done = 0
        @display = terminal.interactive? ? ProgressBar.new(terminal) : ProgressLines.new(terminal)
      end

      # @return [Integer] steps over all sessions
      attr_reader :done

      def total = @plan.sum

      # One of the hashes of {Lab::Progress}.
      def call(event)
        @title = event[:workload].name if event[:workload]
        @plan[@session] = event[:total]
        @done = @plan.first(@session).sum + event[:done]
        @session += 1 if event[:type] == :session_finished
        show(event)
      end

      # Makes room for what the block prints.
      def aside
        @display.clear
        yield
      end

      def stop = @display.clear

      private

      def show(event)
        @display.show(done: @done, total: total, left: time_left, what: what(event), fresh: event[:type] == :session_started)
      end

      def what(event)
        @what = case event[:type]
                when :session_started then "#{@title}: starting"
                when :trial_started then "#{@title}: #{event[:cell].label}, round #{[event[:round], *@rounds].join(" of ")}"
                when :memory_started then "#{@title}: #{event[:cell].label}, counting memory"
                else @what
                end
      end

      # Steps differ in length, so this is a guess that gets better; the budget bounds it.
      def time_left
        return if @done.zero?

        guess = (Deadline.now - @began) / @done * (total - @done)
        @ends ? [guess, @ends.remaining].min : guess
      end
    end

    # A run of `plait lab` or `plait compare`: from options to tables, reports and an exit status. Workloads are measured one
    # after the other; the reports are kept when an error or Ctrl-C ends the run.
    class Campaign
      # Seconds, where none are left.
      SHORTEST = 0.001

      # @param options [Hash] by option name, as Strings
      # @param mechanisms [Array<Symbol>] that --on may name
      # @param remedy [String, nil] what to do where the results differ
      def initialize(terminal, options, mechanisms: Mechanisms.names, remedy: nil)
        @terminal = terminal
        @options = options
        @known = mechanisms
        @remedy = remedy
        @reports = []
      end

      # @return [Integer] an exit status
      # @raise [UsageError] before anything was run
      def call
        outputs = Outputs.new(terminal) { |name| path(name) }
        measure(yield, **manner)
        conclude(outputs)
      end

      def mechanisms = given("on") { |text| Arguments.mechanisms("--on", text, @known) }

      def limits = given("limit") { |text| Arguments.limits("--limit", text) }

      private

      attr_reader :terminal, :options

      def manner
        { rounds: given("rounds") { |text| Arguments.count("--rounds", text) },
          seed: given("seed") { |text| Arguments.integer("--seed", text) },
          bound: Arguments.positive("--bound", options["bound"]),
          budget: given("budget") { |text| Arguments.positive("--budget", text) } || budget, memory: tables? }
      end

      # @return [Boolean] whether the tables of all rows follow the answer
      def tables? = true

      # @return [Numeric, nil] where --budget is missing
      def budget = nil

      # @return [Object, nil] what the block makes of an option; nil without the option
      def given(name)
        value = options[name]
        value.nil? ? nil : yield(value)
      end

      def path(name) = given(name) { |text| Arguments.text("--#{name}", text) }

      # @param budget [Numeric, nil] seconds for all workloads; what one leaves is for the next ones
      def measure(workloads, rounds:, budget:, **manner)
        # A step for each trial, and one for counting memory.
        steps = workloads.map { |workload| workload.cells.size * ((rounds || Plait::Lab::Session::MOST) + 1) }
        @progress = Progress.new(terminal, steps, rounds: rounds, budget: budget)
        deadline = Deadline.after(budget)
        @left = workloads.dup
        until @left.empty? || @ended_by
          share = deadline && share(deadline.remaining)
          add(Plait::Lab::Session.new(@left.first, rounds: rounds, budget: share, on_event: @progress, **manner).run)
        end
      rescue Interrupt
        @ended_by = interrupt
      rescue StandardError => e
        @ended_by = e
      ensure
        @progress&.stop
      end

      # @return [Numeric] seconds for the next workload; what it leaves is for the others. Its first round is always run.
      def share(seconds) = [seconds * @left.first.cells.size / @left.sum { |workload| workload.cells.size }, SHORTEST].max

      def add(report)
        @left.shift
        @reports << report
        @ended_by = report.interrupted? ? interrupt : report.error
      end

      def interrupt
        found = @reports.any? { |report| report.tables.any? } ? "above is what was measured" : "nothing was measured yet"
        Interrupt.new("interrupted after #{@progress.done} of #{@progress.total} steps; #{found}")
      end

      # The reports are saved also after an error; of several problems the first one gives the exit status.
      def conclude(outputs)
        unsaid = say if @reports.any?
        unsaved = outputs.write(@reports)
        problems = [@ended_by, unsaid, failure, *unsaved].compact
        problems.map { |problem| Failure.new(problem).tell(terminal) }.find(&:positive?) || ExitStatus::OK
      end

      # @return [StandardError, nil] why it can't be printed
      def say
        shown = Plait::Lab::ReportSet.new(@reports + @left.map { |workload| Plait::Lab::Report.unmeasured(workload) })
        terminal.say(*shown.lines(tables: tables?, width: terminal.width, paint: terminal.method(:paint)), *pointers)
        nil
      rescue Terminal::Closed, Terminal::Unwritable => e
        e
      end

      # @return [Array<String>] what to do next
      def pointers = []

      # @return [Error, nil] that results differ, or which rows failed
      def failure
        differing = @reports.select(&:mismatch?).map { |report| report.workload.name }
        if differing.any?
          sentence = "the results differ between mechanisms (#{differing.join(", ")})"
          return Error.new([sentence, *@remedy].join(". "))
        end

        failed = @reports.select(&:failed?).map { |report| "#{report.workload.name} (#{failed_rows(report)})" }
        Error.new("failed: #{failed.join(", ")}") if failed.any?
      end

      def failed_rows(report) = report.rows.select(&:failed?).map(&:label).join("; ")
    end
  end
end
