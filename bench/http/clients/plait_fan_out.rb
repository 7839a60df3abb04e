# frozen_string_literal: true

require_relative "plait_client"

module Bench
  module HTTP
    module Clients
      # All requests given at once, each response handed over as soon as it is there.
      class PlaitFanOut < PlaitClient
        # @param on [Symbol, nil] nil: the fibers of the fan-out
        def initialize(site, limit, on: nil)
          super(site, limit)
          @on = on
        end

        def get(requests)
          bodies = []
          @client.fan_out(requests, limit: limit, on: @on) { |response| bodies << response.body }
          bodies
        end

        def in_order? = false
      end
    end
  end
end
