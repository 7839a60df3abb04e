# frozen_string_literal: true

require "sidekiq/api"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # The processes of Sidekiq, as these tell in Redis. Who has given no sign of life for a minute has died.
      class Census
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

        # @return [Boolean] whether jobs wait there
        def waiting?(queue) = @redis.with { |redis| redis.call("LLEN", "queue:#{queue}") }.positive?

        private

        # (From 8.1 on what is written of a process has its queues elsewhere: Sidekiq itself knows.)
        def takes_from?(process, queue) = Array(process.queues).include?(queue)

        # (Without the cleaning that others may want to see done.)
        def processes = ::Sidekiq::ProcessSet.new(false)
      end
    end
  end
end
