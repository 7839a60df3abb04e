# frozen_string_literal: true

module Plait
  module Patches
    # Of Enumerator, on the Rubies before 3.3.
    module EnumeratorPatches
      def self.install = [External].each(&:install)

      # Ruby 3.1: Enumerator#next runs the enumerator in a fiber that blocks, so each of its waits stops the loop.
      # Here it gets one that does not. An enumerator that was started elsewhere stays with Ruby's own.
      module External
        def self.install = (Enumerator.prepend(self) if Enumerator.new { |values| values << Fiber.current.blocking? }.next)

        # @return [Boolean] whether Ruby's own fiber runs an enumerator, which then can't be copied
        def self.started?(enumerator)
          enumerator.frozen? || !enumerator.dup
        rescue TypeError
          true
        end

        # @return [Object] the value that Enumerator#next returns for several values, or none
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
          @plait_cursor || (Patches.scheduler && !External.started?(self) ? @plait_cursor = Cursor.new(self) : nil)
        end

        Gate.before(self, :next_values, :peek_values, :next, :peek, only: :cursors)
      end

      # Where {External} is in an enumerator.
      class Cursor
        # Ruby's own: {External} comes later.
        NEXT = Enumerator.instance_method(:next)
        private_constant :NEXT

        def initialize(enumerator)
          @enumerator = enumerator
          @fed = []
        end

        def take = peek.tap { @ahead = nil }

        def peek
          raise @over if @over

          @ahead ||= advance
        end

        def feed(value)
          raise TypeError, "feed value already set" unless @fed.empty?

          @fed << value
          nil
        end

        private

        def advance
          @fiber = Fiber.new(blocking: false) { run } unless @fiber&.alive?
          @fiber.resume || raise(@over)
        end

        def run
          value = @enumerator.each do |*values|
            Fiber.yield(values)
            @fed.shift
          end
          @over = stop_iteration(value)
          nil
        end

        # Ruby alone can give it its result.
        def stop_iteration(result)
          NEXT.bind_call(Enumerator.new { result })
        rescue StopIteration => e
          e
        end
      end

      private_constant :Cursor
    end
  end
end
