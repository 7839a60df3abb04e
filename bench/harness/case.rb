# frozen_string_literal: true

module Bench
  module Harness
    # One question of a bench: what is done, how often, who does it, and in which metrics they are compared.
    class Case
      # @return [String] as in the JSON report and in `--only`
      attr_reader :name
      # @return [String] one line for a person
      attr_reader :title
      # @return [String] the file that defines it: what a contestant's process loads
      attr_reader :file
      # @return [Hash{Symbol => Object}] sizes: the same for all contestants
      attr_reader :sizes
      # @return [Array<Metric>] the first is the one that is judged
      attr_reader :metrics
      # @return [Array<Contestant>]
      attr_reader :contestants
      # @return [Array<Goal>]
      attr_reader :goals
      # @return [Integer, nil] rounds of its own, where the usual number is too few or too slow
      attr_reader :rounds

      def initialize(name:, title:, file:, sizes:, metrics:, contestants:, goals: [], rounds: nil)
        @name = name
        @title = title
        @file = file
        @sizes = sizes
        @metrics = metrics
        @contestants = contestants
        @goals = goals
        @rounds = rounds
      end

      # @return [Contestant, nil]
      def plait = contestants.find(&:plait?)

      # @return [Array<Contestant>]
      def peers = contestants.select(&:peer?)

      # @return [Contestant, nil]
      def floor = contestants.find(&:floor?)

      # @param name [String]
      # @return [Contestant]
      # @raise [KeyError] where there is none of that name
      def contestant(name)
        contestants.find { |contestant| contestant.name == name } || raise(KeyError, "#{self.name} has no #{name}")
      end
    end
  end
end
