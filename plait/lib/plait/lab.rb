# frozen_string_literal: true

require_relative "lab/cell"
require_relative "lab/comparison"
require_relative "lab/report"
require_relative "lab/report_set"
require_relative "lab/session"
require_relative "lab/table"
require_relative "lab/workload"

module Plait
  # Measures the same work under several mechanisms, side by side.
  module Lab
    class << self
      # Runs a block over items under each mechanism at each limit, and says how long it takes, what it needs, and which
      # is fastest. See {Plait.compare}.
      #
      # @param items [#to_a] finite; every trial runs all of them
      # @param on [Symbol, Array<Symbol, Array<Symbol>>] mechanisms; a pair inside the Array is a composition, as in
      #   `on: [:sequence, :threads, [:processes, :fibers]]`
      # @param limit [Integer, Array<Integer>, nil] items in flight; nil: each mechanism's own
      # @param rounds [Integer] trials of each
      # @param warmup [Integer] passes over the first tenth of the items before each trial
      # @param seed [Integer, nil] the order of the trials follows from it
      # @param budget [Numeric, nil] seconds; rounds that would not fit are left out
      # @param memory [Boolean] whether to count allocations, in a pass of its own
      # @param digest [Proc, nil] results => a String that is equal when the results are; nil: their contents
      # @param bound [Numeric] seconds until a trial counts as hung
      # @param on_event [#call, nil] see {Progress}
      # @param map_options [Hash] further options of {Plait.map}: timeout, deadline, retries, on_error
      # @yieldparam item [Object]
      # @return [Report]
      # @raise [UsageError] when the call is wrong: nothing was run
      # @raise [UnknownMechanism]
      def compare(items, on:, limit: nil, rounds: 3, warmup: 1, seed: nil, budget: nil, memory: true, digest: nil,
                  bound: Session::BOUND, on_event: nil, **map_options, &body)
        comparison = Comparison.new(items, on: on, limit: limit, digest: digest, map_options: map_options, &body)
        Session.new(comparison.workload, rounds: rounds, warmup: warmup, seed: seed, budget: budget, memory: memory,
                                         bound: bound, on_event: on_event).run
      end
    end
  end
end
