# frozen_string_literal: true

require_relative "../support/workers"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # A client that blocks, used by so many workers. A subclass opens a worker's session, which answers to `get` and
      # `close`.
      class ByWorkers < Client
        # A session that leaves its connections to others.
        Session = Struct.new(:fetch) do
          def get(request) = fetch.call(request)

          def close = nil
        end

        # @param on [Symbol] see {Workers.map}
        def initialize(site, limit, on:)
          super(site, limit)
          @on = on
        end

        def get(requests) = Workers.map(@on, limit, requests) { open }
      end
    end
  end
end
