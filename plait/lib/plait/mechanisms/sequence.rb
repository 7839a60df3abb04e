# frozen_string_literal: true

require_relative "scope"

module Plait
  module Mechanisms
    # One item after another, in the caller: the reference that every other mechanism must agree with.
    class Sequence < Mechanism
      # An item is a part of its caller's unit of work.
      def execution = nil

      def executor(attempt, **) = OneByOne.new(attempt)

      def scope(options:, &block) = TaskScope.open(options: options, &block)

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
          State.isolate { @attempt.call(index, item, 0) }
        end
      end

      # Runs each task at once, in the caller, before `async` returns.
      class TaskScope < Scope
        private

        # A task in the stead of another one needs no further place.
        def full? = !@running.value?(Thread.current) && super

        def execution = nil

        # An exception of the caller may come before the task begins, or behind its end.
        def take_on(task)
          super
        ensure
          finish(task, nil, CancelledError.new) if @running[task].equal?(Thread.current)
        end

        def start(task)
          State.isolate { perform(task) }
          abort_if_failed if @failure
        end

        # It was meant for the caller, in whose stead the task ran.
        def interrupted(_task, interruption) = raise(interruption)

        def interrupt(_task) = nil

        def interrupt_owner = nil

        def guard_owner = yield
      end
    end
    private_constant :Sequence
  end
end
