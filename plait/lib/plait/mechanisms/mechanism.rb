# frozen_string_literal: true

module Plait
  # The ractor that a program begins with. Event loops, pools and connections are its own.
  module MainRactor
    # @return [Boolean] whether it is the current one
    def self.here? = !defined?(::Ractor) || ::Ractor.current == ::Ractor.main

    # From Ruby 3.3 on any ractor may collect an object, and runs its finalizer. Another one than the main one leaves the work
    # to a later garbage collection.
    class Finalizer
      # @param work [#call] does not refer to the object, and does not wait: it runs in the middle of anything
      def self.define(object, work) = ObjectSpace.define_finalizer(object, new(work))

      def initialize(work)
        @work = work
      end

      def call(_id) = MainRactor.here? ? @work.call : ObjectSpace.define_finalizer(Object.new, self)
    end
  end
  private_constant :MainRactor

  module Mechanisms
    # A mechanism, as the coordinator sees it. One object each, without state: the state of a run is in its executor.
    class Mechanism
      HANDLER = Mutex.new
      private_constant :HANDLER

      # @param task [String] its first step
      # @return [String, nil] why it can't be used in a ractor of the program, or in a signal handler
      def self.beyond_this_place(task)
        unless MainRactor.here?
          return "the caller is in a ractor, and only the main one may #{task}; use on: :sequence or on: :threads here, " \
                 "or begin with this mechanism in the main ractor"
        end

        HANDLER.synchronize { nil }
      rescue ThreadError => e # Ruby locks no mutex there
        raise unless e.message.include?("trap")

        "a signal handler can't #{task}; do that in a thread of its own: Thread.new { … }"
      end

      def name = self.class.name[/\w+\z/].downcase.to_sym

      # @return [Integer] items in flight when the caller names no limit
      def default_limit = 1

      # @return [Boolean] whether it runs jobs, which have a name, and no blocks
      def jobs_only? = false

      # @return [String, nil] why it can't be used here, and an alternative; nil where it can
      def unavailable = nil

      # @param limit [Integer, Array(Integer, Integer), nil] the caller's
      # @return [Integer, Array(Integer, Integer)]
      # @raise [UsageError] for a pair, unless the mechanism is one
      def limit_for(limit)
        return limit || default_limit unless limit.is_a?(Array)

        raise UsageError, "limit: #{limit.inspect} names two limits, which is for pairs such as [:processes, :threads]"
      end

      # @param among [Array<Symbol>, nil] mechanisms to choose from, of the caller
      # @raise [UsageError] where there is nothing to choose
      def check_among(among) = (raise UsageError, "among: is for on: :auto, which chooses a mechanism" if among)

      # @return [RailsExecution, nil] for the items of a run
      def execution = RailsExecution.current

      # @param limit [Integer] items in flight at most
      def executor(attempt, limit:) = raise(NotImplementedError, "#{self.class}#executor")

      # Opens a scope, yields it, and returns when the scope and all its tasks are over.
      # @param options [Options] its limit is the number of tasks running at once; nil: no limit
      # @yieldparam scope [Scope]
      # @return [Object] the block's value
      def scope(options:, &block) = raise(NotImplementedError, "#{self.class}#scope")
    end

    # Runs the items of one call. It is driven by one caller, the {Coordinator}.
    class Executor
      LEFT_BEHIND = "the deadline passed while fibers still ran that blocks had left behind; they were cancelled"

      # Takes threads or processes for that many items from the system.
      # @raise [ThreadError] when it does not give it
      def prepare(_count) = nil

      # @return [Boolean] whether another item may be submitted now
      def room? = raise(NotImplementedError)

      def submit(index, item) = raise(NotImplementedError)

      # Runs submitted items for a moment, without waiting, where the calling thread has to run them.
      def turn; end

      # @param source [#each_entry]
      # @param deadline [Deadline, nil] at which the source is no longer waited for
      # @param hasty [Boolean] neither is it once an item has failed
      # @return [#each_entry, #overdue?, nil] the same items, asked for so that what was submitted goes on while the source
      #   waits; nil where it does anyhow
      def supply(*, **) = nil

      # Runs the items of an Array as {#submit} and {#take} would, and stores each value at its index. Called once, instead of
      # these, where an outcome is of interest only if it is a failure.
      # @param items [Array] may change meanwhile
      # @param values [Array]
      # @return [Outcome, nil, false] the first failure, after which no item is started; nil: none; false: there is no such way
      def run_all(*) = false

      # @return [Boolean] whether {#take} would return at once
      def ready? = false

      # Waits for the next item to finish; called only while one is pending.
      # @return [Outcome, nil] nil: there may be room now, or it has to be called again
      def take = raise(NotImplementedError)

      # Waits for fibers that bodies have left behind; called once all items are over, and none was cancelled.
      # @return [Boolean] false when the deadline has passed meanwhile
      def await_rest(_deadline) = true

      # Ends the items in flight: `ensure` blocks run, and are waited for.
      # @return [Array<Outcome>] finished and not taken
      def cancel = []

      # @return [#call, nil] ends everything in place of {#cancel} and {#close}, once nothing refers to the run any more.
      #   It refers to nothing that could lead back to the run: not to the block, which may see the very variable that holds
      #   the enumerator.
      def remains = nil

      # Frees everything, and cancels fibers that bodies have left behind; called last, once, however the run ended.
      def close; end
    end
  end
end
