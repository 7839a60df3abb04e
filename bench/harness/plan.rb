# frozen_string_literal: true

module Bench
  module Harness
    # Who runs when: every round takes the cases, and in each the contestants, in a new random order. The contestants of
    # one case follow each other, so that what disturbs the machine for a minute disturbs them alike.
    class Plan
      include Enumerable

      # @return [Integer]
      attr_reader :seed

      # @param cases [Array<Case>]
      # @param rounds [Integer] of the cases that name no number of their own
      # @param forced [Boolean] whether the number holds for all cases
      # @param seed [Integer]
      def initialize(cases, rounds:, forced: false, seed: Random.new_seed % 1_000_000)
        @cases = cases
        @rounds = rounds
        @forced = forced
        @seed = seed
      end

      # @yieldparam bench_case [Case]
      # @yieldparam contestant [Contestant]
      # @yieldparam round [Integer] from 1
      def each
        random = Random.new(seed)
        (1..@cases.map { |bench_case| rounds_of(bench_case) }.max.to_i).each do |round|
          due(round).shuffle(random: random).each do |bench_case|
            bench_case.contestants.shuffle(random: random).each { |contestant| yield [bench_case, contestant, round] }
          end
        end
      end

      # @return [Integer] how many processes will run
      def size = @cases.sum { |bench_case| rounds_of(bench_case) * bench_case.contestants.size }

      # @return [Integer]
      def rounds_of(bench_case) = (!@forced && bench_case.rounds) || @rounds

      private

      def due(round) = @cases.select { |bench_case| round <= rounds_of(bench_case) }
    end
  end
end
