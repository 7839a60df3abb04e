# frozen_string_literal: true

require_relative "../mechanisms"
require_relative "fresh_process"
require_relative "measurement"
require_relative "report"
require_relative "row"
require_relative "trial"

module Plait
  module Lab
    # The time that a session may take, and the time of each cell's last trial.
    class Budget
      # @param seconds [Numeric, nil] nil: as long as it takes
      def initialize(seconds)
        @deadline = Deadline.after(seconds)
        @costs = {}.compare_by_identity
      end

      # Runs a trial of a cell and remembers how long it took, its process and warm-up included.
      # @return [Object] what the block returns
      def spend(cell)
        began = Deadline.now
        yield
      ensure
        @costs[cell] = Deadline.now - began
      end

      # @param cells [Array<Cell>]
      # @return [Boolean] one more trial of each would end in time, if it takes as long as the last one
      def for?(cells) = @deadline.nil? || cells.sum { |cell| @costs.fetch(cell, 0.0) } <= @deadline.remaining

      # @return [Cell, nil] the one with the shortest trial so far
      def cheapest(cells) = cells.min_by { |cell| @costs.fetch(cell, Float::INFINITY) }
    end

    # Counts the steps of a session and reports them to a listener. Each event is a Hash with `:type`, `:done` and
    # `:total` (steps; a step is a timed trial or a memory pass) and:
    #
    # - `:session_started` with `:workload`
    # - `:trial_started` with `:cell`, `:round`; `:trial_finished` with `:cell`, `:round`, `:measurement`
    # - `:memory_started`, `:memory_finished` with `:cell`
    # - `:steps_skipped`: a cell that can't be run (any more) was passed over
    # - `:rounds_reduced` with `:rounds`: the budget is used up, or the rows are settled
    # - `:session_finished`
    # @api private
    class Progress
      # @param listener [#call, nil]
      # @param total [Integer] steps
      def initialize(listener, total)
        @listener = listener
        @total = total
        @done = 0
      end

      def started(workload) = tell(:session_started, workload: workload)

      def finished = tell(:session_finished)

      # @yieldreturn [Measurement]
      def trial(cell, round)
        tell(:trial_started, cell: cell, round: round)
        measurement = yield
        @done += 1
        tell(:trial_finished, cell: cell, round: round, measurement: measurement)
      end

      def memory(cell)
        tell(:memory_started, cell: cell)
        yield
        @done += 1
        tell(:memory_finished, cell: cell)
      end

      def skip
        @done += 1
        tell(:steps_skipped)
      end

      def shortened(rounds)
        @total = @done
        tell(:rounds_reduced, rounds: rounds)
      end

      private

      def tell(type, **facts) = @listener&.call({ type: type, done: @done, total: @total, **facts })
    end

    private_constant :Budget, :Progress

    # Measures a workload: every cell in a fresh process, all cells in a new random order each round, so that what else
    # the machine does falls on all of them alike. After the first round the allocations of each cell are counted. From then on
    # the shortest cell is run twice, which shows how far equal trials differ, and a cell whose answer is settled may rest.
    class Session
      # Seconds until a trial counts as hung.
      BOUND = 120.0
      # Rounds, where no number is given and the rows don't settle before; 40 show a difference of a few percent.
      MOST = 40
      # Seconds for the rounds, where neither their number nor a budget is given.
      BUDGET = 60.0
      # The note of a report where trials share a process.
      NO_FORK = "Trials ran in the lab's own process, one after the other, since there is no fork here: they share a " \
                "heap, what one leaves behind the next one carries, and neither peak memory nor allocations are known."
      # Rounds: with fewer nothing can be settled.
      FIRST_LOOK = 6
      private_constant :NO_FORK, :FIRST_LOOK

      # @param workload [Workload]
      # @param rounds [Integer, nil] trials of each cell; nil: until more would change no answer, or the budget is spent
      # @param warmup [Integer] passes over the cell's warm-up items before each trial
      # @param seed [Integer, nil] the order follows from it; nil: a new one, which the report names
      # @param budget [Numeric, nil] seconds for the whole; rounds that would not fit are left out, but never the first; nil:
      #   {BUDGET} where the number of rounds is open, else as long as it takes
      # @param memory [Boolean] whether to count allocations
      # @param bound [Numeric] seconds until a trial counts as hung
      # @param on_event [#call, nil] is called with small hashes: see {Progress}
      # @raise [UsageError]
      def initialize(workload, rounds: nil, warmup: 1, seed: nil, budget: nil, memory: true, bound: BOUND, on_event: nil)
        @workload = workload
        @open = rounds.nil?
        @rounds = check(:rounds, rounds || MOST, 1)
        @warmup = check(:warmup, warmup, 0)
        @seed = seed || (Random.new_seed % (2**32))
        @seconds = budget ? check_seconds(:budget, budget) : (BUDGET if @open)
        @memory = memory && FreshProcess.supported?
        @bound = check_seconds(:bound, bound)
        @progress = Progress.new(on_event, cells.size * (@rounds + (@memory ? 1 : 0)))
      end

      # @return [Report] also after an interrupt or an error, with what was measured until then
      # @raise [Exception] what ended it before anything had been measured
      def run
        prepare
        guarded { @workload.around { measure } }
        @progress.finished
        report
      end

      private

      def cells = @workload.cells

      def check(name, value, least)
        return value if value.is_a?(Integer) && value >= least

        raise UsageError, "#{name}: must be a whole number from #{least}, not #{value.inspect}"
      end

      def check_seconds(name, value)
        return value if value.is_a?(Numeric) && value.real? && value.positive?

        raise UsageError, "#{name}: must be a number of seconds above 0, not #{value.inspect}"
      end

      def prepare
        @budget = Budget.new(@seconds)
        @random = Random.new(@seed)
        @trials = cells.to_h { |cell| [cell, []] }.compare_by_identity
        @allocations = {}.compare_by_identity
        @twins = Hash.new { |twins, cell| twins[cell] = [] }.compare_by_identity
        @settled = []
        @rounds_done = 0
      end

      # The figures are worth more than the error that ended them.
      def guarded
        yield
      rescue Interrupt
        @interrupted = true
      rescue StandardError => e
        raise if @trials.each_value.none? { |trials| trials.compact.any?(&:ok?) }

        @error = e
      end

      def measure
        @progress.started(@workload)
        exclude_unsupported
        @rounds.times do |number|
          break @progress.shortened(@rounds_done) unless number.zero? || @budget.for?(runnable)

          round(number + 1)
          count_allocations if number.zero? && @memory
          settle if @open && @rounds_done >= FIRST_LOOK
          break @progress.shortened(@rounds_done) if runnable.empty?
        end
      end

      # More trials of a row that is slower than the best would change nothing, nor would more of any once all are settled. Where
      # another row has become the best, one that rested may run again.
      def settle = @settled = Ranking.new(rows).settled.map(&:cell)

      def exclude_unsupported
        cells.each do |cell|
          reason = Mechanisms.find(cell.on).unavailable unless cell.runner
          @trials[cell] << Measurement.failed(cell.label, "not available here: #{reason}", :unsupported) if reason
        end
      end

      def round(number)
        order = number == 1 ? cells : [*cells, :twin]
        order.shuffle(random: @random).each do |cell|
          next twin(number) if cell == :twin

          runnable.include?(cell) ? try(cell, number) : rest(cell)
        end
        @rounds_done = number
      end

      # The trials of all cells stay aligned with the rounds.
      def rest(cell)
        @trials[cell] << nil
        @progress.skip
      end

      # The first round says which cell is the shortest.
      def twin(number)
        @twin ||= @budget.cheapest(runnable.reject(&:runner))
        return unless runnable.include?(@twin)

        found = trial(@twin)
        @twins[@twin][number - 1] = found.wall if found.ok?
      end

      def runnable = cells.select { |cell| runnable?(cell) } - @settled

      # A cell that failed once would most likely fail in each round, and a hang takes two minutes.
      def runnable?(cell) = @trials[cell].compact.all?(&:ok?)

      def try(cell, number)
        @progress.trial(cell, number) do
          @budget.spend(cell) { trial(cell).tap { |measurement| @trials[cell] << measurement } }
        end
      end

      def trial(cell)
        return cell.runner.call(cell, warmup: @warmup, bound: @bound) if cell.runner

        Trial.new(cell, warmup: @warmup, bound: @bound).run
      end

      def count_allocations
        cells.each do |cell|
          next @progress.skip unless runnable?(cell) && cell.runner.nil?

          @progress.memory(cell) { @allocations[cell] = allocations(cell) }
        end
      end

      # Counting takes about as long as a trial.
      def allocations(cell)
        return "no time was left to count what is allocated" unless @budget.for?([cell])

        MemoryPass.new(cell, @trials[cell].last, warmup: @warmup, bound: @bound).run
      end

      def report
        Report.new(workload: @workload, rows: rows, seed: @seed, rounds: (@rounds unless @open), rounds_done: @rounds_done,
                   interrupted: @interrupted || false, error: @error, notes: notes)
      end

      def rows = cells.map { |cell| Row.new(cell, @trials[cell], @allocations[cell], twin: @twins.fetch(cell, [])) }

      def notes = [shortened, (NO_FORK unless FreshProcess.supported?)].compact

      def shortened
        return if @rounds_done == @rounds || @interrupted || @error
        if runnable.empty?
          return ("#{@rounds_done} rounds were run: more of them would change no answer." if rows.any?(&:measured?))
        end

        "#{@rounds_done} of #{"at most " if @open}#{@rounds} rounds were run: another one would not have fitted into " \
          "#{@seconds.round} s."
      end
    end
  end
end
