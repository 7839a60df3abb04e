# frozen_string_literal: true

require_relative "../attempt"
require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "../../values/outcome"
require_relative "cargo"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # In a worker: runs one item.
      class Execution
        # @param policy [Options]
        # @return [Boolean] whether the parent is told when each attempt begins: it then ends those that don't let
        #   themselves be interrupted, and counts them when the worker dies
        def self.announced?(policy) = policy.timed? || policy.retries.count.positive?

        # @param attempt [Attempt]
        # @param answers [Answers]
        def initialize(attempt, answers)
          @attempt = attempt
          @answers = answers
          @announced = Execution.announced?(attempt.policy)
          @timed = attempt.policy.timed?
        end

        # @param made [Integer] attempts made by workers that died
        # @param payload [String] the item dumped
        # @yield as {Attempt#call}
        # @return [Outcome]
        def call(index, made, payload, worker, &note)
          return announced(index, made, payload, worker, &note) if @announced

          @attempt.call(index, load(payload), worker, &note)
        rescue UnmarshalableError => e
          now = Deadline.now
          Outcome.new(index: index, item: nil, error: e, attempts: made, started_at: now, finished_at: now, worker: worker)
        end

        private

        def load(payload) = Cargo.load(payload, "the item")

        # To load an item runs code of its class, and may need much memory: whoever dies of that has begun it. Its time is
        # limited, too; for the block the clock begins anew.
        def announced(index, made, payload, worker)
          @answers.attempt(index, made + 1, @timed ? Deadline.now : 0.0)
          @attempt.call(index, load(payload), worker, made: made) do |number, running|
            @answers.attempt(index, number, running ? Deadline.now : 0.0) if @timed || number > made + 1
            yield number, running if block_given?
          end
        end
      end
    end
  end
end
