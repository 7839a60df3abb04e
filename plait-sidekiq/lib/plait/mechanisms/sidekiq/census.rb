# frozen_string_literal: true

require "json"
require "sidekiq/api"
require "plait/mechanisms/mechanism"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # The processes of Sidekiq, as these tell in Redis. Who has given no sign of life for a minute has died.
      class Census
        # A time above this counts milliseconds, as Sidekiq does from version 8 on.
        MILLISECONDS = 1e11
        private_constant :MILLISECONDS

        # @param redis [#with] a pool of connections
        def initialize(redis)
          @redis = redis
        end

        # @param identities [Array<String>] of processes
        # @return [Array<String>] those that live no more
        def dead(identities)
          identities.reject { |identity| @redis.with { |redis| redis.call("EXISTS", identity) }.positive? }
        end

        # @return [Boolean] whether any process takes jobs from it
        def served?(queue) = processes.any? { |process| takes_from?(process, queue) && !process.stopping? }

        # Sidekiq takes the oldest first, so that a job older than this one is no longer there.
        # @return [Float] seconds for which the oldest job waits there, by the clock of its sender; 0 of an empty queue
        def longest_wait(queue)
          oldest = @redis.with { |redis| redis.call("LINDEX", "queue:#{queue}", -1) } or return 0.0
          at = JSON.parse(oldest)["enqueued_at"].to_f
          Time.now.to_f - (at > MILLISECONDS ? at / 1000 : at)
        end

        private

        # (From 8.1 on what is written of a process has its queues elsewhere: Sidekiq itself knows.)
        def takes_from?(process, queue) = Array(process.queues).include?(queue)

        # (Without the cleaning that others may want to see done.)
        def processes = ::Sidekiq::ProcessSet.new(false)
      end
    end
  end
end
