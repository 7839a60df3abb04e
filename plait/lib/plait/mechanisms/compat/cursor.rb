# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
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
    end
  end
end
