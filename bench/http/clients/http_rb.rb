# frozen_string_literal: true

require "http"
require_relative "by_workers"

module Bench
  module HTTP
    module Clients
      # http.rb with a persistent client for each worker.
      class HttpRb < ByWorkers
        # A persistent client.
        class Session
          def initialize(site)
            @client = ::HTTP.persistent(site.origin)
            @options = site.tls ? { ssl: { ca_file: site.ca_file } } : {}
          end

          def get(target) = @client.get(target, **@options).to_s

          def close = @client.close
        end

        def requests(targets) = targets

        private

        def open = Session.new(site)
      end
    end
  end
end
