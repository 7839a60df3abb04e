# frozen_string_literal: true

require_relative "plait/mechanisms/base"
require_relative "plait/mechanisms"
require_relative "plait/mechanisms/coordinator"

# One body of plain Ruby, any concurrency underneath.
#
# @example
#   Plait.map(urls, on: :fibers, limit: 256) { |url| Net::HTTP.get(URI(url)) }
module Plait
  autoload :Lab, File.expand_path("plait/lab", __dir__)
  autoload :Scheduler, File.expand_path("plait/mechanisms/scheduler", __dir__)
  autoload :Suites, File.expand_path("plait/suites", __dir__)
  # Of the other gems of the family: a file each, which says what to install where the gem is missing.
  autoload :DB, File.expand_path("plait/siblings/db", __dir__)
  autoload :HTTP, File.expand_path("plait/siblings/http", __dir__)
  autoload :Pool, File.expand_path("plait/siblings/db", __dir__)
  autoload :RPC, File.expand_path("plait/siblings/rpc", __dir__)
  autoload :Server, File.expand_path("plait/siblings/server", __dir__)
  autoload :Shard, File.expand_path("plait/siblings/shard", __dir__)

  class << self
    # Runs the block for each item.
    #
    # @param items [#each] an Array, a Range, any Enumerable; endless ones belong to {each_result}
    # @param on [Symbol, Array<Symbol>] :sequence, :threads, :fibers, :hybrid, :processes, :ractors, :auto, which chooses, a
    #   pair such as [:processes, :fibers], or :sidekiq, which takes no block but a {job}
    # @param options [Hash]
    # @option options [Integer, nil] :limit items in flight at most; nil: the mechanism's own default
    # @option options [Numeric, nil] :timeout seconds for each attempt at an item
    # @option options [Numeric, nil] :deadline seconds for all
    # @option options [Integer, Hash] :retries see {Mechanisms::Retries.from}; {WorkerDied} is an error as any other
    # @option options [Symbol] :on_error :raise (the first failure ends the run and is raised, see {Failure}), :collect
    #   (the result is an Array of {Outcome}) or :skip (failed items are left out)
    # @option options [#call, nil] :progress called with (done, total or nil) after each item
    # @option options [Array<Symbol>, nil] :among what `on: :auto` may choose; nil: :sequence, :threads, :fibers and :hybrid
    # @yieldparam item [Object]
    # @return [Array] the block's values, in the order of the items
    # @raise [UsageError] for a wrong option; nothing was run
    # @raise [UnsupportedError] where the mechanism can't be used
    def map(items, on:, **options, &block) = coordinate(items, on, options, block).map

    # As {map}, but hands over each {Outcome} as soon as it is there. Items are pulled only as room becomes free, so that
    # an endless source is fine. It is asked in the calling thread (on fibers in one of their own, with the caller's
    # fiber-locals): while it waits for its next item, the others go on, and nothing is handed over, since the source may be
    # in the middle of something that the caller uses too. Items of a source that is late, such as a queue, belong into tasks
    # of {run}. An enumeration that was started by `next` and dropped ends when Ruby collects it.
    # @yieldparam item [Object]
    # @return [Enumerator<Outcome>] in the order in which they finish; leaving it early cancels the rest
    def each_result(items, on:, **options, &block)
      coordinate(items, on, options, block) # wrong arguments are errors now, not at the first outcome
      Enumerator.new { |outcomes| coordinate(items, on, options, block).each { |outcome| outcomes << outcome } }
    end

    # @return [Object] the first value that arrives; the other items are cancelled
    # @raise [AllFailed] when every item failed
    def first(items, on:, **options, &block)
      coordinate(items, on, { on_error: :collect, limit: crowd(items, on) }.merge(options), block).first
    end

    # Opens a scope: tasks started in it don't outlive it. Leave its block by its last value, `next` or `throw`: on fibers it
    # runs in one, where `break` and `return` are a LocalJumpError.
    # @param options [Hash]
    # @option options [Integer, nil] :limit tasks running at once; nil: no limit
    # @option options [Numeric, nil] :timeout seconds for each attempt at a task
    # @option options [Numeric, nil] :deadline seconds for all
    # @yieldparam scope [Scope]
    # @return [Object] the block's value
    # @raise [Exception] the first error of a task; the other tasks and the block are cancelled first
    def run(on:, **options, &block)
      raise UsageError, "Plait.run needs a block" unless block

      mechanism = Mechanisms.fetch(on)
      mechanism.scope(options: scope_options(mechanism, options), &block)
    end

    # What `on: :auto` has chosen in the latest run of the current thread. It changes while a run goes on.
    # @return [Mechanisms::Decision, nil] nil: there was none
    def last_decision = Mechanisms::Decision.last

    # @param seconds [Numeric] 0 and below: there is no time left
    # @return [Object] the block's value
    # @raise [TimeoutError] when it takes longer; it was ended at a point where it waited
    # @raise [UsageError]
    def timeout(seconds, &block)
      raise UsageError, "Plait.timeout needs a block" unless block
      raise UsageError, "Plait.timeout takes seconds, not #{seconds.inspect}" unless seconds?(seconds)

      TimeLimit.enforce(seconds, &block)
    end

    # A block with a name, for `on: :sidekiq`; all other mechanisms run it as well.
    # @example
    #   Plait.map(ids, on: :sidekiq, &Plait.job(Thumbnail))
    # @param target [Module] a class whose instances answer to `call(item)`, or a class or module that does so itself
    # @param queue [String] of Sidekiq
    # @return [Job]
    # @raise [UsageError]
    def job(target, queue: Job::QUEUE) = Job.of(target, queue: queue)

    # Runs a blocking call on a thread while the calling fiber waits; outside of fibers it is a plain call.
    # @param stop [#call, nil] called when the fiber no longer waits (a timeout, a cancellation) and the block still runs: ends
    #   a call in C that no interruption of its thread reaches, by closing what it waits for
    # @return [Object] the block's value
    # @raise [UsageError]
    def offload(stop: nil, &block)
      raise UsageError, "Plait.offload needs a block" unless block

      Fiber.respond_to?(:current_scheduler) && Fiber.current_scheduler ? offloaded(stop, &block) : yield
    end

    # Runs the same block under several mechanisms and measures them side by side.
    # @return [Lab::Report]
    def compare(items, **options, &block) = Lab.compare(items, **options, &block)

    # Says which mechanism, with which limit, fits a block: measures it in forks of this process, which run the block many
    # times.
    # @param options [Hash] goal, budget, among, once: see {Lab.advise}
    # @return [Lab::Advice]
    def advise(items, **options, &block) = Lab.advise(items, **options, &block)

    # Candidates of {first} that are tried at once at most, where nothing is said.
    CROWD = 256
    private_constant :CROWD

    private

    def coordinate(items, on, options, block)
      raise UsageError, "a block is needed: what to do with each item" unless block

      mechanism = Mechanisms.fetch(on)
      built = build(options)
      mechanism.check_among(built.among)
      Coordinator.new(mechanism, items, built, block)
    end

    def build(options)
      Mechanisms::Options.new(**options)
    rescue ArgumentError => e
      raise UsageError, "#{e.message}; the options are limit, timeout, deadline, retries, on_error, progress and among"
    end

    def seconds?(value) = value.is_a?(Numeric) && value.real? && !(value.is_a?(Float) && value.nan?)

    def scope_options(mechanism, options)
      odd = options.keys & %i[progress among]
      odd << :on_error if options[:on_error] == :skip
      raise UsageError, "Plait.run takes no #{odd.first}: it is for Plait.map and each_result" if odd.any?

      build(options).tap { |built| mechanism.limit_for(built.limit) if built.limit }
    end

    # All candidates at once where that costs little; processes and ractors are as many as ever.
    def crowd(items, on)
      size = items.size if items.respond_to?(:size) && !Array(on).intersect?(%i[processes ractors])
      size.is_a?(Integer) && size.positive? ? [size, CROWD].min : nil
    end

    def offloaded(stop, &block)
      require_relative "plait/mechanisms/offload"
      Offload.call(stop: stop, &RailsExecution.around(block))
    end
  end
end
