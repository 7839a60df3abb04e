# frozen_string_literal: true

module Plait
  # The items of an Array, which workers take one after another, each when it has room; and the places of their values.
  class Series
    # @param items [Array]
    # @param values [Array]
    def initialize(attempt, items, values)
      @attempt = attempt
      @items = items
      @values = values
      @index = -1
    end

    # Claims the next item. Under the GVL no other thread comes in between reading the index and raising it.
    # @return [Integer, nil] nil: there is none, or one has failed
    def advance
      index = (@index += 1)
      index if index < @items.size && !@failed
    end

    # @return [Boolean] whether {#advance} may find another one
    def more? = @index + 1 < @items.size && !@failed

    # Runs an item, and stores its value.
    # @param worker [Integer]
    # @yieldparam outcome [Outcome] a failed one
    def perform(index, worker)
      @values[index] = @attempt.value(index, @items[index], worker) do |outcome|
        @failed = true
        yield outcome
      end
    end

    # @param index [Integer, nil] what a worker has claimed, as far as it knows; nil: one that was claimed last
    # @return [Array(Integer, Object)]
    def claimed(index)
      index ||= @index.clamp(0, @items.size - 1)
      [index, @items[index]]
    end
  end
  private_constant :Series
end
