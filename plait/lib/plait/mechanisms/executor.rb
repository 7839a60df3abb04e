# frozen_string_literal: true

module Plait
  module Mechanisms
    # Runs the items of one call. It is driven by one caller, the {Coordinator}.
    class Executor
      LEFT_BEHIND = "the deadline passed while fibers still ran that blocks had left behind; they were cancelled"

      # Takes from the system what that many items at once need.
      # @raise [ThreadError] when it does not give it
      def prepare(_count) = nil

      # @return [Boolean] whether another item may be submitted now
      def room? = raise(NotImplementedError)

      # @return [void]
      def submit(index, item) = raise(NotImplementedError)

      # Lets what was submitted begin and go on, without waiting, where that is up to the calling thread.
      # @return [void]
      def turn; end

      # @param source [#each_entry]
      # @param deadline [Deadline, nil] at which the source is no longer waited for
      # @param hasty [Boolean] neither is it once an item has failed
      # @return [#each_entry, #overdue?, nil] the same items, asked for so that what was submitted goes on while the source
      #   waits; nil where it does anyhow
      def supply(*, **) = nil

      # @return [Boolean] whether {#take} would return at once
      def ready? = false

      # Waits for the next item to finish; called only while one is pending.
      # @return [Outcome]
      def take = raise(NotImplementedError)

      # Waits for what the bodies have started and left behind; called once all items are over, and none was cancelled.
      # @param deadline [Deadline, nil]
      # @return [Boolean] false when the deadline has passed meanwhile
      def await_rest(_deadline) = true

      # Ends what is in flight: `ensure` blocks run, and are waited for.
      # @return [Array<Outcome>] what had finished and was not taken
      def cancel = []

      # @return [#call, nil] what ends everything in place of {#cancel} and {#close}, once nobody refers to the run any more.
      #   It refers to nothing that could lead back to the run: not to the block, which may see the very variable that holds
      #   the enumerator.
      def remains = nil

      # Frees everything, and cancels what the bodies have left behind; called last, once, however the run ended.
      # @return [void]
      def close; end
    end
  end
end
