# frozen_string_literal: true

require "plait"
require "plait/http"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # What the ways to use Plait::HTTP have in common: every timeout is set, safety is part of the price.
      class PlaitClient < Client
        TIMEOUT = { connect: 30, first_byte: 30, read: 30, total: 60 }.freeze

        def initialize(site, limit)
          super
          @client = Plait::HTTP::Client.new(timeout: TIMEOUT, http2: site.http2 || false, **tls)
        end

        private

        def tls = site.tls ? { tls: { ca_file: site.ca_file } } : {}
      end
    end
  end
end
