# frozen_string_literal: true

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The items of an Array, which the workers of a pool have by fork. Each takes the next one when it is free: no item travels,
      # and no worker waits for the parent. Sent one by one, items of 10 ms took the parent 7 × as many instructions.
      #
      # The place of the next item is in shared memory, so that the parent knows what a dead worker has taken.
      class SharedItems
        def self.available? = Native.available?

        # @return [Array]
        attr_reader :items

        # @param items [Array] it may change meanwhile; what is forked later must see the same
        # @param slots [Integer] of workers
        def initialize(items, slots)
          @items = items.dup
          @cursor = NativeCursor.new(slots)
          @settled = Array.new(slots, -1)
        end

        # In a worker.
        # @return [Integer, nil] the index of its next item
        def take(slot) = @cursor.take(slot, @items.size)

        # No item is taken any more: one has failed.
        def close = @cursor.close

        # @return [Integer] items
        def size = @items.size

        # @return [Integer] items that no worker has taken
        def left = @items.size - @cursor.taken

        # @return [Boolean] false where the worker of the slot can't have had the item, or has answered for it
        def settle(slot, index)
          return false unless index > @settled[slot] && index <= (@cursor.last(slot) || -1)

          @settled[slot] = index
          true
        end

        # @return [Integer, nil] the index of the item that a dead worker has not answered for. (One killed just between two items
        #   passes for running the second.)
        def lost(slot)
          index = @cursor.last(slot)
          index if index && index > @settled[slot]
        end
      end
    end
  end
end
