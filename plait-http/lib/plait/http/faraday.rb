# frozen_string_literal: true

require "faraday"
require_relative "faraday/adapter"

module Plait
  module HTTP
    # `require "plait/http/faraday"`, then `adapter :plait`: applications built on Faraday use Plait's client, with its pool
    # of connections, under any mechanism.
    #
    # @example
    #   api = Faraday.new("https://api.example") { |builder| builder.adapter(:plait) }
    #   Plait.map(1..1_000, on: :fibers, limit: 64) { |id| api.get("/items/#{id}").body }
    module Faraday
      ::Faraday::Adapter.register_middleware(plait: Adapter)
    end
  end
end
