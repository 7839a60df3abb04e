# frozen_string_literal: true

require "typhoeus"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # A Hydra of libcurl's.
      class Typhoeus < Client
        def initialize(site, limit)
          super
          @hydra = ::Typhoeus::Hydra.new(max_concurrency: limit)
          @options = site.tls ? { cainfo: site.ca_file } : {}
        end

        def get(requests)
          bodies = Array.new(requests.size)
          requests.each_with_index do |url, index|
            request = ::Typhoeus::Request.new(url, **@options)
            request.on_complete { |response| bodies[index] = response.body }
            @hydra.queue(request)
          end
          @hydra.run
          bodies
        end
      end
    end
  end
end
