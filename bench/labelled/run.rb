# frozen_string_literal: true

require "plait"
require_relative "unseen"
require_relative "workloads"

module Labelled
  # Asks Plait.advise about each workload, and then runs the advised row and the best one in turn.
  class Run
    # Rounds of advised and best; raising it makes the regret more exact.
    ROUNDS = 5

    # @param budget [Numeric] seconds for each advice
    # @param only [Array<String>] names, or "unseen" for the workloads of that file; none: all others
    def initialize(budget:, only: [])
      @budget = budget
      @workloads = only == %w[unseen] ? Labelled.unseen : Labelled.all.select { |one| only.empty? || only.include?(one.name) }
      @regrets = []
      @hits = @unsettled = 0
    end

    # @return [Boolean] at least 95 % are right
    def call
      @workloads.each { |one| judge(one) }
      puts(summary)
      @hits >= @workloads.size * 0.95
    end

    private

    def judge(one)
      advice = Plait.advise(one.items, goal: one.goal, budget: @budget, &one.body)
      right = one.right.include?(advice.on)
      @hits += 1 if right
      @unsettled += 1 if advice.certainty == :unsettled
      regret = regret(one, advice)
      @regrets << regret if regret
      puts(format("%-16s %-5s %-24s %-10s regret %s", one.name, right ? "right" : "WRONG",
                  [advice.on.inspect, advice.limit].compact.join(" "), advice.certainty, regret&.round(2) || "-"))
    end

    # The median of advised ÷ best inside each round.
    def regret(one, advice)
      return unless advice.on && one.best
      return 1.0 if [advice.on, advice.limit] == one.best

      ratios = Array.new(ROUNDS) { seconds(one, [advice.on, advice.limit]) / seconds(one, one.best) }
      ratios.sort[ROUNDS / 2]
    end

    def seconds(one, (on, limit))
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Plait.map(one.items, on: on, limit: limit, &one.body)
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
    end

    def summary
      sorted = @regrets.sort
      format("%d of %d right, %d not settled; regret %.2f in the median, %.2f at most", @hits, @workloads.size, @unsettled,
             sorted[sorted.size / 2] || 0, sorted.last || 0)
    end
  end
end
