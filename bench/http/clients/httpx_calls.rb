# frozen_string_literal: true

# httpx 1.9 takes for granted what Ruby has loaded by itself only from 3.2 on.
require "set"
require "httpx"
require_relative "by_workers"

module Bench
  module HTTP
    module Clients
      # One persistent session that all workers share: a connection for each call in flight.
      class HttpxCalls < ByWorkers
        def initialize(site, limit, on:)
          super
          @httpx = HTTPX.plugin(:persistent).with(ssl: site.tls ? { ca_file: site.ca_file } : {})
        end

        private

        def open = Session.new(->(url) { @httpx.get(url).raise_for_status.body.to_s })
      end
    end
  end
end
