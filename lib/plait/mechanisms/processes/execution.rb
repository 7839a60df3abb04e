# frozen_string_literal: true

require_relative "../attempt"
require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "../../values/outcome"
require_relative "cargo"
require_relative "resumed"

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
        end

        # @param made [Integer] attempts made by workers that died
        # @param payload [String] the item dumped
        # @return [Outcome]
        def call(index, made, payload, worker)
          item = Cargo.load(payload, "the item")
          @announced ? announced(index, made).call(index, item, worker) : @attempt.call(index, item, worker)
        rescue UnmarshalableError => e
          now = Deadline.now
          Outcome.new(index: index, item: nil, error: e, attempts: 0, started_at: now, finished_at: now, worker: worker)
        end

        private

        def announced(index, made)
          number = 0
          body = lambda do |item|
            @answers.attempt(index, number += 1, Deadline.now)
            @attempt.body.call(item)
          end
          Attempt.new(body, policy(made))
        end

        def policy(made)
          return @attempt.policy if made.zero?

          Resumed.new(@attempt.policy, made).tap(&:hold)
        end
      end
    end
  end
end
