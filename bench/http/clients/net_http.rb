# frozen_string_literal: true

require "net/http"
require_relative "by_workers"

module Bench
  module HTTP
    module Clients
      # The standard library: a connection a request, or one for a worker's whole life.
      class NetHttp < ByWorkers
        # One started Net::HTTP.
        class Kept
          def initialize(site)
            @http = Net::HTTP.start(site.host, site.effective_port, use_ssl: site.tls, ca_file: site.ca_file)
          end

          def get(target) = @http.get(target).body

          def close = @http.finish
        end

        def initialize(site, limit, on:, keep_alive:)
          super(site, limit, on: on)
          @keep_alive = keep_alive
        end

        def requests(targets) = @keep_alive ? targets : super.map { |url| URI(url) }

        private

        def open = @keep_alive ? Kept.new(site) : Session.new(Net::HTTP.method(:get))
      end
    end
  end
end
