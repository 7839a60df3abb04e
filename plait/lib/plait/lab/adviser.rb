# frozen_string_literal: true

require "etc"
require_relative "../mechanisms"
require_relative "advice"
require_relative "adviser/profile"
require_relative "cell"
require_relative "fresh_process"
require_relative "judgement"
require_relative "statistics"
require_relative "trial"

module Plait
  module Lab
    # Finds out which mechanism fits a block: what an item does, under which mechanisms the block is correct, which limits
    # are good, and then which mechanism is best, round by round, until that is settled or the budget is spent.
    class Adviser
      GOALS = %i[throughput latency memory].freeze
      AMONG = %i[sequence threads fibers hybrid processes ractors].freeze
      PAIRS = [%i[processes threads], %i[processes fibers]].freeze
      # Seconds.
      BUDGET = 60
      # Share of the budget for the first look at an item, and for one trial.
      LOOK = 0.08
      TRIAL = 1 / 80r
      # Limits for work that waits.
      LADDER = [4, 16, 64, 256, 1024].freeze
      # Seconds that a mechanism takes for an item that does nothing, and that any item takes.
      HAND_OVER = 0.00003
      SHORTEST = 0.0000001
      # Items at once in any row; raising it takes more threads of the system.
      MOST = 4096
      # Limits within this ratio of the best one are as good; the smallest is taken.
      ENOUGH = 1.05
      # Slower ones, in the first look, get no further rounds.
      HOPELESS = 2.5
      # Share of the budget that is kept for rounds.
      REST = 0.45
      # Rounds of each finalist; more would settle nothing that a reader cares for.
      MOST_ROUNDS = 40
      # They share one GVL.
      IN_ONE_RUBY = %i[threads fibers hybrid].freeze
      NO_USE = "the work computes with the GVL held, which one process can't overlap"
      # Not measured: beside other programs Linux favours a thread that starts to compute, which then is "1.2 × faster".
      ONE = "there is one item, and nothing to run beside it"
      NO_FORK = "advice is measured in forks of the program, and this Ruby has no fork; Plait.compare measures without"

      # @raise [UsageError] nothing was run
      def initialize(items, goal: :throughput, budget: BUDGET, among: nil, once: false, digest: nil, note: nil, &body)
        @items = Cell.finite(items)
        @body = body or raise UsageError, "Plait.advise needs a block: the work on one item"
        @goal = check_goal(goal)
        @budget = check_budget(budget)
        @among = check_among(among)
        @once = once
        @digest = digest
        @note = note
        @excluded = {}
        @series = {}
        @latencies = Hash.new { |all, row| all[row] = [] }
      end

      # @return [Advice] also after Ctrl-C, with what was learned until then
      # @raise [UnsupportedError] nothing was run
      def call
        raise UnsupportedError, NO_FORK unless FreshProcess.supported?

        @ends = Deadline.after(@budget)
        @left = @items.dup if @once
        guarded { investigate }
        advice
      end

      private

      def check_goal(goal)
        return goal if GOALS.include?(goal)

        raise UsageError, "goal: must be one of #{GOALS.map(&:inspect).join(", ")}, not #{goal.inspect}"
      end

      def check_budget(budget)
        return budget if budget.is_a?(Numeric) && budget.real? && budget.positive?

        raise UsageError, "budget: must be a number of seconds above 0, not #{budget.inspect}"
      end

      def check_among(among)
        among&.each { |on| Mechanisms.find(on) }
        raise UsageError, "among: names no mechanism" if among && among.empty?

        among
      end

      def guarded
        yield
      rescue Interrupt
        @interrupted = true
      rescue FreshProcess::Failed => e
        @failure = e.kind == :hung ? "an item has no result after #{(@budget / 3.0).round(1)} s" : e.message
      end

      def investigate
        tell("what an item does")
        @profile = profile
        rows = candidates
        scan(rows)
        finish(finalists)
      end

      def tell(what) = @note&.call(what)

      # With `once` the items that are looked at are gone.
      def profile
        seconds = @budget * LOOK
        items = @once ? @left.shift([@items.size / 10, 1].max) : @items
        Profiler.new(items, @body, seconds: seconds, bound: [@budget / 3.0, 1].max).call(again: !@once)
      end

      # @return [Array<Array>] mechanism and limit, the simplest first
      def candidates
        names = @among || (AMONG + (@profile.waits? && @profile.computes? && !@once ? PAIRS : []))
        @usable = names.select { |on| usable?(on) }
        @usable.flat_map { |on| limits(on).map { |limit| [on, limit] } }.sort_by { |row| Judgement.simplicity(*row) }
      end

      def usable?(on)
        reason = Mechanisms.find(on).unavailable
        @excluded[on] = "not available here: #{reason}" if reason
        @excluded[on] ||= ONE if @items.one? && on != :sequence
        @excluded[on] ||= NO_USE if IN_ONE_RUBY.include?(on) && held? && @among.nil?
        !@excluded.key?(on)
      end

      # An item this short is measured too badly to tell.
      def held? = @profile.share(:held) > 0.85 && @profile.wall > 0.0005

      def limits(on)
        return [nil] if on == :sequence

        most = @once ? [@items.size / 20, 1].max : [@items.size, MOST].min
        widths(on).map { |limit| [limit, most].min }.uniq.sort
      end

      def widths(on)
        return [processors] unless @profile.waits?
        return [4, 16] if @once
        return [processors * 8, processors * 32] if on.is_a?(Array)

        { processes: [processors, processors * 4, 16], ractors: [processors, 16] }[on] || (LADDER + [@items.size])
      end

      def processors = Etc.nprocessors

      # The largest limits first: there a race shows.
      def scan(rows)
        tell("#{rows.size} rows, each once")
        try(:sequence, nil)
        2.times { reference } unless @once
        largest_first(rows).each { |row| try(*row) unless row == [:sequence, nil] || @excluded[row.first] || scanned? }
        @scan_cut = !everything?
      end

      # First the largest limit of each mechanism, then the next of each.
      def largest_first(rows)
        columns = rows.group_by(&:first).values.map(&:reverse)
        Array.new(columns.map(&:size).max.to_i) { |rank| columns.filter_map { |all| all[rank] } }.flatten(1)
      end

      # The rounds need the rest of the budget.
      def scanned? = spent? || (@ends.remaining < @budget * REST && everything?)

      # Each mechanism has a row, or the reason why it has none.
      def everything? = @usable.all? { |on| @excluded.key?(on) || @series.any? { |row, _| row.first == on } }

      def spent? = @ends.expired? || (@once && @left.empty?)

      # The results that all are held against: one after another, twice, since they may differ from run to run.
      def reference
        measured = measure(:sequence, nil) or return
        found = fingerprints(measured, sample(:sequence, nil))
        @steady = @expected.nil? || found.all? { |index, print| @expected.fetch(index, print) == print } if @steady != false
        @expected = found
      end

      def fingerprints(measurement, indices)
        indices.each_with_index.to_h { |index, place| [index, measurement.results.at(place)] }
      end

      # @return [Float, nil] what the goal counts
      def try(on, limit)
        measured = measure(on, limit) or return
        wrong = @once || on == :sequence ? nil : deviation(measured, sample(on, limit))
        return exclude(on, wrong) if wrong

        row = [on, limit]
        @latencies[row].concat(measured.latencies || [])
        (@series[row] ||= []) << { time: measured.wall / measured.items, latency: Statistics.of(measured.latencies || [])&.median,
                                   memory: measured.peak }
      end

      def exclude(on, reason)
        @excluded[on] ||= reason
        @series.delete_if { |row, _| row.first == on }
        nil
      end

      def deviation(measured, indices)
        return unless @expected && @steady

        index, = fingerprints(measured, indices).find { |at, print| @expected.key?(at) && @expected[at] != print }
        "its result differs at item #{index}: the body is not safe under it" if index
      end

      def measure(on, limit)
        indices = sample(on, limit)
        items = @once ? @left.shift(indices.size) : @items.values_at(*indices)
        return if items.empty?

        cell = Cell.new(on: on, limit: limit, items: items, body: @body, digest: @digest)
        measured = Trial.new(cell, warmup: 0, bound: [@budget / 3.0, 1].max).run
        return measured if measured.ok?

        raise FreshProcess::Failed.new(measured.failure, measured.failure_kind) if on == :sequence

        exclude(on, measured.failure)
      end

      # As many items, evenly spaced, as take one trial's share of the budget; at least as many as are in flight at once.
      def sample(on, limit)
        @samples ||= {}
        @samples[[on, limit]] ||= evenly(count(Array(limit || 1).reduce(1, :*), on == :sequence ? 0 : HAND_OVER))
      end

      def count(width, extra)
        together = extra + (@profile.waits / width) + ((@profile.held + @profile.free) / [width, processors].min)
        fitting = (@budget * TRIAL / [together, SHORTEST].max).floor
        return fitting.clamp(1, [@items.size / 60, width].max) if @once

        fitting.clamp(@items.size.clamp(1, [width, 3].max), @items.size)
      end

      def evenly(count) = count == 1 ? [0] : Array.new(count) { |place| place * (@items.size - 1) / (count - 1) }

      # The best limit of each mechanism, measured again: the luckiest figure of many is no estimate.
      def finalists
        times = @series.transform_values { |rounds| rounds.first[:time] }
        best = times.group_by { |row, _| row.first }.map { |_, rows| smallest_good(rows) }
        fastest = best.map { |row| times[row] }.min
        kept = best.select { |row| eligible?(row) || times[row] <= fastest * hopeless }
        @scanned = times
        kept.sort_by { |row| Judgement.simplicity(*row) }
      end

      # How much faster a row is than one after another is part of the answer.
      def eligible?(row) = row.first == :sequence && @goal == :throughput

      def hopeless = @goal == :throughput ? HOPELESS : 2.0

      def smallest_good(rows)
        least = rows.map(&:last).min
        rows.select { |_, time| time <= least * ENOUGH }.min_by { |row, _| Judgement.simplicity(*row) }.first
      end

      def finish(rows)
        return if @scan_cut

        @finalists = rows
        @series = rows.to_h { |row| [row, []] }
        MOST_ROUNDS.times do |round|
          break if spent? || (round.positive? && judgement&.settled?)

          tell("round #{round + 1} of #{rows.size} rows")
          rows.shuffle.each { |row| try(*row) if @series.key?(row) }
        end
      end

      # @return [Judgement, nil] nil before there is anything to judge
      def judgement
        key = { throughput: :time, latency: :latency, memory: :memory }.fetch(@goal)
        series = @series.slice(*@finalists).transform_values { |rounds| rounds.map { |round| round[key] } }
        series.any? && @finalists ? Judgement.new(series, reference: ([:sequence, nil] if series.key?([:sequence, nil]))) : nil
      end

      def advice
        Advice.new(goal: @goal, items: @items.size, budget: @budget, profile: @profile, scanned: @scanned || {},
                   judgement: (judgement if @finalists), series: @finalists ? @series : {}, latencies: @latencies,
                   excluded: @excluded, failure: @failure, interrupted: @interrupted || false, once: @once,
                   unsteady: @steady == false)
      end
    end
    private_constant :Adviser
  end
end
