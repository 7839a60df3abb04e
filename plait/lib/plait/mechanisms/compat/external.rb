# frozen_string_literal: true

require_relative "cursor"

module Plait
  module Mechanisms
    module Compat
      # Ruby 3.1: Enumerator#next runs the enumerator in a fiber that blocks, so whatever that waits for stops the loop.
      # Here it gets one that does not. An enumerator that was begun elsewhere stays with Ruby's own.
      module External
        def self.install
          Enumerator.prepend(self) if Enumerator.new { |values| values << Fiber.current.blocking? }.next
        end

        # @return [Boolean] whether Ruby's own fiber runs an enumerator, which then can't be copied
        def self.begun?(enumerator)
          enumerator.frozen? || !enumerator.dup
        rescue TypeError
          true
        end

        # @return [Object] what Enumerator#next makes of several values, or none
        def self.one(values) = values.size > 1 ? values : values.first

        def next_values = (cursor = plait_cursor) ? cursor.take : super

        def peek_values = (cursor = plait_cursor) ? cursor.peek : super

        def next = (cursor = plait_cursor) ? External.one(cursor.take) : super

        def peek = (cursor = plait_cursor) ? External.one(cursor.peek) : super

        def feed(value) = @plait_cursor ? @plait_cursor.feed(value) : super

        def rewind
          @plait_cursor = nil if @plait_cursor
          super
        end

        private

        def initialize_copy(other)
          raise TypeError, "can't copy execution context" if other.instance_variable_get(:@plait_cursor)

          super
        end

        def plait_cursor
          @plait_cursor || (Compat.scheduler && !External.begun?(self) ? @plait_cursor = Cursor.new(self) : nil)
        end
      end
    end
  end
end
