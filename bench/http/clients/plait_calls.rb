# frozen_string_literal: true

require_relative "plait_client"

module Bench
  module HTTP
    module Clients
      # Plain calls of one client that all share, under a mechanism.
      class PlaitCalls < PlaitClient
        # @param on [Symbol] as for Plait.map
        def initialize(site, limit, on:)
          super(site, limit)
          @on = on
        end

        def get(requests) = Plait.map(requests, on: @on, limit: limit) { |url| @client.get(url).body }
      end
    end
  end
end
