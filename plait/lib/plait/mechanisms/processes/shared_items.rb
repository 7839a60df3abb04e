# frozen_string_literal: true

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The items of an Array, which the workers of a pool have by fork. Each takes the next one when it is free: no item travels,
      # and no worker waits for the parent. Sent one by one, items of 10 ms took the parent 7 × as many instructions.
      #
      # The place of the next item is in shared memory, so that the parent knows what a dead worker has taken.
      class SharedItems
        # Bytes of all dumps: they are made before the first fork, and kept. Raising it takes more memory, and lets the workers
        # wait longer for their first item.
        MOST = 4 << 20

        # @param items [Array]
        # @param slots [Integer] of workers
        # @return [SharedItems, nil] nil: they have to be sent, since they are too large, or one can't be dumped
        def self.of(items, slots)
          items = items.dup # it may change meanwhile; what is forked later must see the same
          dumps = dump(items)
          new(items, dumps, slots) if dumps
        end

        # @return [Array<String, nil>, nil] nil in the place of an item that nothing can change
        def self.dump(items)
          bytes = 0
          items.map do |item|
            next if Portable::Value.plain?(item)

            dump = Portable::Value.dump(item, "the item")
            return nil if (bytes += dump.bytesize) > MOST

            dump
          end
        rescue UnmarshalableError
          nil
        end
        private_class_method :new, :dump

        def initialize(items, dumps, slots)
          @items = items
          @dumps = dumps
          @cursor = NativeCursor.new(slots)
          @settled = Array.new(slots, -1)
        end

        # @return [Integer] items
        def size = @items.size

        # @return [Object] the caller's item
        def [](index) = @items[index]

        # @return [Object] the item for the block: a copy as it was before the first fork, as blocks may change what they see
        # @raise [UnmarshalableError]
        def copy(index)
          dump = @dumps[index]
          dump ? Portable::Value.load(dump, "the item") : @items[index]
        end

        # In a worker.
        # @return [Integer, nil] the index of its next item
        def take(slot) = @cursor.take(slot, size)

        # No item is taken any more: one has failed.
        def close = @cursor.close

        # @return [Boolean] whether there are items that no worker has taken
        def left? = @cursor.taken < size

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
