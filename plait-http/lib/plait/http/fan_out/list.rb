# frozen_string_literal: true

module Plait
  module HTTP
    class FanOut
      # A source that is an Array: whoever takes finds the next item at once. Items that are added meanwhile are taken too.
      class List
        # @return [Object] the one that was taken last
        attr_reader :item

        # @param items [Array]
        def initialize(items)
          @items = items
          @at = 0
        end

        # @return [Integer, nil] the index of the {item} that was taken
        def take
          return if @at >= @items.size

          index = @at
          @at = index + 1
          @item = @items[index]
          index
        end

        # As {take}, which never waits here.
        alias take_now take

        # @return [Boolean] whether another member would find something to do
        def more? = @at < @items.size

        # @return [Boolean] whether nothing is left and nothing will come
        def over? = !more?

        def open(_crew) = nil

        # An item that was taken is done with.
        def done(_item) = nil

        # Gives nothing out any more.
        def close = @at = Float::INFINITY
      end
    end
  end
end
