# frozen_string_literal: true

require_relative "executor"
require_relative "mechanism"
require_relative "scope/inline"
require_relative "state"

module Plait
  module Mechanisms
    # One item after another, in the caller: the reference that every other mechanism must agree with.
    class Sequence < Mechanism
      def executor(attempt, **) = OneByOne.new(attempt)

      def scope(options:, &block) = Scope::Inline.open(options: options, &block)

      # Runs the submitted item when its outcome is asked for.
      class OneByOne < Executor
        def initialize(attempt)
          super()
          @attempt = attempt
        end

        def room? = @next.nil?

        def submit(index, item) = @next = [index, item]

        def ready? = true

        def take
          index, item = @next
          @next = nil
          State.apart { @attempt.call(index, item, 0) }
        end
      end
    end
  end
end
