# frozen_string_literal: true

module Bench
  module Harness
    # A contestant of a case. Its body runs in a fresh process of its own.
    #
    # - `name` of its row, `kind` :plait, :peer or :floor
    # - `gems` that it needs; their dependencies are found
    # - `body` takes a {Trial}
    Contestant = Struct.new(:name, :kind, :gems, :body) do
      def plait? = kind == :plait

      def peer? = kind == :peer

      def floor? = kind == :floor
    end

    # One question of a bench: what is done, how often, who does it, and in which metrics they are compared.
    #
    # - `name` as in the JSON report and in `--only`, `title` one line for a person
    # - `file` that defines it: what a contestant's process loads
    # - `sizes` by name, the same for all contestants
    # - `metrics`, of which the first is the one that is judged
    # - `contestants`, `goals`
    # - `rounds` of its own, where the usual number is too few or too slow
    Case = Struct.new(:name, :title, :file, :sizes, :metrics, :contestants, :goals, :rounds, keyword_init: true) do
      # @return [Contestant, nil]
      def plait = contestants.find(&:plait?)

      # @return [Array<Contestant>]
      def peers = contestants.select(&:peer?)

      # @return [Contestant, nil]
      def floor = contestants.find(&:floor?)

      # @param wanted [String]
      # @return [Contestant]
      # @raise [KeyError] where there is none of that name
      def contestant(wanted) = contestants.find { |one| one.name == wanted } || raise(KeyError, "#{name} has no #{wanted}")
    end
  end
end
