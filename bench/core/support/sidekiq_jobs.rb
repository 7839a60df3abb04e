# frozen_string_literal: true

require "json"
require "sidekiq"

module Bench
  module Core
    # The work, as Plait has it done.
    class Double
      def call(number) = number * 2
    end

    # The same as a job of Sidekiq alone: it writes its result to Redis.
    class BareDouble
      include ::Sidekiq::Job

      sidekiq_options retry: false

      def perform(list, index, number)
        ::Sidekiq.redis { |redis| redis.call("RPUSH", list, JSON.generate([index, number * 2])) }
      end
    end
  end
end
