# frozen_string_literal: true

# httpx 1.9 takes for granted what Ruby has loaded by itself only from 3.2 on.
require "set"
require "httpx"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # Batches of as many as may be in flight, by one persistent session: by HTTP/1.1 it sends a batch over one
      # connection, whatever its options.
      class HttpxBatches < Client
        def initialize(site, limit)
          super
          @session = HTTPX.plugin(:persistent).with(ssl: site.tls ? { ca_file: site.ca_file } : {})
        end

        def get(requests) = requests.each_slice(limit).flat_map { |batch| fetch(batch).map { |response| body(response) } }

        private

        # One response is not in an Array.
        def fetch(batch) = [@session.get(*batch)].flatten

        def body(response)
          response.raise_for_status
          response.body.to_s
        end
      end
    end
  end
end
