# frozen_string_literal: true

require "json"
require_relative "plain"
require "plait/mechanisms/attempt"
require "plait/mechanisms/mechanism"
require "plait/mechanisms/sequence"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # For Sidekiq::Testing.inline!: each job is run at once, by who calls, and without a Redis; items and results become JSON
      # and come back from it all the same, so that a test finds what can't travel.
      module Inline
        class << self
          # @param attempt [Attempt] at a {Job}
          # @return [Executor]
          def executor(attempt) = Sequence.new.executor(Attempt.new(travelling(attempt.body), attempt.policy))

          private

          def travelling(job) = ->(item) { travel(job.call(travel(item, "the item")), "the result") }

          def travel(value, name) = JSON.parse(JSON.generate([Plain.check(value, name)])).first
        end
      end
    end
  end
end
