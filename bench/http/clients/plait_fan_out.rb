# frozen_string_literal: true

require_relative "plait_client"

module Bench
  module HTTP
    module Clients
      # All requests given at once, each response handed over as soon as it is there.
      class PlaitFanOut < PlaitClient
        def get(requests)
          bodies = []
          Plait::HTTP.fan_out(requests, limit: limit, **options) { |response| bodies << response.body }
          bodies
        end

        def in_order? = false
      end
    end
  end
end
