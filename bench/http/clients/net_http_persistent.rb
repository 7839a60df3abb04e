# frozen_string_literal: true

require "net/http/persistent"
require_relative "by_workers"

module Bench
  module HTTP
    module Clients
      # One pool of connections that all workers share, as its documentation advises.
      class NetHttpPersistent < ByWorkers
        def initialize(site, limit, on:)
          super
          @pool = Net::HTTP::Persistent.new(pool_size: limit)
          @pool.ca_file = site.ca_file if site.tls
        end

        def requests(targets) = super.map { |url| URI(url) }

        private

        def open = Session.new(->(uri) { @pool.request(uri).body })
      end
    end
  end
end
