# frozen_string_literal: true

require "redis_client"
require_relative "../guard"
require_relative "../session"

module Plait
  module DB
    class Redis < Session
      # A RedisClient that lets one fiber or thread in at a time: two would get each other's answers.
      class Client < ::RedisClient
        GUARDED = %i[call call_v call_once call_once_v blocking_call blocking_call_v pipelined multi pubsub
                     measure_round_trip_delay].freeze
        private_constant :GUARDED

        prepend Guard.around(GUARDED & ::RedisClient.public_instance_methods)

        # @api private
        def plait_guard = @plait_guard ||= Guard.new
      end
    end
  end
end
