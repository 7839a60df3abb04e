# frozen_string_literal: true

require "curb"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # One handle of libcurl, one request after another.
      class CurbEasy < Client
        def initialize(site, limit)
          super
          @easy = Curl::Easy.new
          @easy.cacert = site.ca_file if site.tls
        end

        def get(requests) = requests.map { |url| fetch(url) }

        private

        def fetch(url)
          @easy.url = url
          @easy.perform
          @easy.body
        end
      end
    end
  end
end
