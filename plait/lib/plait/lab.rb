# frozen_string_literal: true

require_relative "values"
require_relative "lab/text"
require_relative "lab/adviser"
require_relative "lab/advice"
require_relative "lab/cell"
require_relative "lab/difference"
require_relative "lab/judgement"
require_relative "lab/watch"
require_relative "lab/report"
require_relative "lab/report_set"
require_relative "lab/session"
require_relative "lab/table"
require_relative "mechanisms"
require_relative "mechanisms/options"

module Plait
  # Measures the same work under several mechanisms, side by side.
  module Lab
    # The name under which suites of other gems find it.
    # @api private
    const_set(:Quantity, Quantity)

    class << self
      # Says which mechanism, with which limit, fits a block. See {Plait.advise}.
      #
      # @param items [#to_a] finite
      # @param options [Hash]
      # @option options [Symbol] :goal :throughput (items a second), or of mechanisms that take at most twice as long as the
      #   fastest: :latency (the time of one item) or :memory (the peak)
      # @option options [Numeric] :budget seconds; it ends earlier when the answer is settled
      # @option options [Array<Symbol, Array<Symbol>>, nil] :among mechanisms; nil: all, and pairs where items wait and compute
      # @option options [Boolean] :once whether each item runs once at most; then results are not compared
      # @option options [Proc, nil] :digest results => a String that is equal when the results are; nil: their contents
      # @option options [#call, nil] :note called with a few words about each step
      # @yieldparam item [Object]
      # @return [Advice]
      # @raise [UsageError] nothing was run
      def advise(items, **options, &body)
        Adviser.new(items, **options, &body).call
      rescue ArgumentError => e
        raise UsageError, "Plait.advise: #{e.message}"
      end

      # Runs a block over items under each mechanism at each limit, and says how long it takes, what it needs, and which
      # is fastest. See {Plait.compare}.
      #
      # @param items [#to_a] finite; every trial runs all of them
      # @param on [Symbol, Array<Symbol, Array<Symbol>>] mechanisms; a pair inside the Array is a composition, as in
      #   `on: [:sequence, :threads, [:processes, :fibers]]`
      # @param limit [Integer, Array<Integer>, nil] items in flight; nil: 16 under each mechanism, or as many as there are items
      # @param rounds [Integer, nil] trials of each; nil: until more would change no answer, 40 at most
      # @param warmup [Integer] passes over the first tenth of the items before each trial
      # @param seed [Integer, nil] the order of the trials follows from it
      # @param budget [Numeric, nil] seconds; rounds that would not fit are left out; nil: 60 where the rounds are open
      # @param memory [Boolean] whether to count allocations, in a pass of its own
      # @param digest [Proc, nil] results => a String that is equal when the results are; nil: their contents
      # @param bound [Numeric] seconds until a trial counts as hung
      # @param on_event [#call, nil] see {Progress}
      # @param map_options [Hash] further options of {Plait.map}: timeout, deadline, retries, on_error
      # @yieldparam item [Object]
      # @return [Report]
      # @raise [UsageError] when the call is wrong: nothing was run
      # @raise [UnknownMechanism]
      def compare(items, on:, limit: nil, rounds: nil, warmup: 1, seed: nil, budget: nil, memory: true, digest: nil,
                  bound: Session::BOUND, on_event: nil, **map_options, &body)
        Session.new(comparison(items, on: on, limit: limit, digest: digest, **map_options, &body),
                    rounds: rounds, warmup: warmup, seed: seed, budget: budget, memory: memory, bound: bound,
                    on_event: on_event).run
      end

      # Looks at the running program, at less than one percent of a processor, until {Watch#stop}.
      # @example
      #   watch = Plait::Lab.watch(sources: { jobs: queue })
      #   puts watch
      # @param interval [Numeric] seconds between two looks at least
      # @param sources [Hash{Symbol => #statistics, Thread::Queue}] pools and queues to show
      # @param socket [String, nil] path of a UNIX socket for `plait attach`; %p stands for the number of the process
      # @return [Watch]
      # @raise [UsageError]
      def watch(interval: 0.1, sources: {}, socket: nil) = Watch.new(interval: interval, sources: sources, socket: socket)

      private

      # @return [Workload] one body, a cell for each mechanism at each limit
      def comparison(items, on:, limit: nil, digest: nil, **map_options, &body)
        raise UsageError, "Plait.compare needs a block: the work that is compared" unless body

        cells = Cell.each_of(mechanisms(on), limit && Array(limit), items: Cell.finite(items), body: body, digest: digest,
                                                                    options: check_options(map_options))
        Workload.new(name: "compare", title: "comparison", cells: cells)
      end

      def mechanisms(names)
        names = Array(names)
        raise UsageError, "on: names no mechanism; give one or more, as in on: %i[sequence threads fibers]" if names.empty?

        names.each { |name| Mechanisms.find(name) }
      end

      # Now, and not in every trial's process.
      def check_options(map_options)
        Mechanisms::Options.new(**map_options)
        map_options
      rescue ArgumentError => e
        raise UsageError, "Plait.compare: #{e.message}"
      end
    end
  end
end
