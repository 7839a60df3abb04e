# frozen_string_literal: true

require_relative "../interruption"
require_relative "../mechanism"
require_relative "answers"
require_relative "execution"
require_relative "guard"
require_relative "intake"
require_relative "../state"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # In a worker: runs the items one after another in the main thread.
      class Serial
        # @param attempt [Attempt]
        # @param pipes [Hash{Symbol => IO}]
        def initialize(attempt, pipes)
          @answers = Answers.new(pipes[:results], pipes[:bell])
          @intake = Intake.new(pipes[:items], @answers)
          @attempt = attempt
          @execution = Execution.new(attempt, @answers)
          main = Thread.current
          @guard = Guard.new(pipes[:lifeline], stop: -> { main.raise(Interruption.new) }, recall: method(:recall))
        end

        # @return [void] when the parent has no more items, or wants this process to end
        def run
          work if @answers.staff { prepare }
        rescue Interruption, Errno::EPIPE
          nil # EPIPE: the parent is gone
        rescue Exception => e # rubocop:disable Lint/RescueException -- the parent tells it to the caller
          @answers.crash(e)
          raise
        ensure
          @guard.leave
        end

        private

        def prepare
          @guard.watch
          @attempt.prepare
        end

        def work
          while (index, made, payload = @intake.next)
            outcome = @execution.call(index, made, payload, 0)
            State.clear
            break if @guard.stopped?

            @answers.answer(outcome)
          end
        end

        def recall = @answers.returned(@intake.recall)
      end
    end
  end
end
