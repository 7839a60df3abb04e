# frozen_string_literal: true

require "curb"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # The one call of curb for many URLs.
      class CurbMultiGet < Client
        # It takes the URLs in no order one may rely on, so each body is put where its URL was.
        def get(requests)
          bodies = requests.to_h { |url| [url, nil] }
          options = site.tls ? { cacert: site.ca_file } : {}
          Curl::Multi.get(requests, options, { max_connects: limit }) { |easy| bodies[easy.url] = easy.body }
          bodies.values_at(*requests)
        end
      end
    end
  end
end
