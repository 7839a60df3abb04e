# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The policy for an item over which a worker has died: the attempts made there count.
      class Resumed
        # @param policy [Options]
        # @param made [Integer]
        def initialize(policy, made)
          @policy = policy
          @made = made
        end

        def timeout = @policy.timeout

        def deadline = @policy.deadline

        def timed? = @policy.timed?

        # It is its own {Retries}.
        def retries = self

        def count = [@policy.retries.count - @made, 0].max

        def again?(error, attempts) = @policy.retries.again?(error, attempts + @made)

        def pause(attempts) = @policy.retries.pause(attempts + @made)

        # Waits as long as before any other attempt.
        def hold = sleep([@policy.retries.pause(@made), *deadline&.remaining].min)
      end
    end
  end
end
