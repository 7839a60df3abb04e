# frozen_string_literal: true

require "json"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # Calls as users write them, one after another, of Plait and of a kept Net::HTTP: the same way by both.
      class OrdinaryCalls < Client
        DATA = { name: "Ada", tags: %w[a b c], age: 36 }.freeze
        HEADERS = { "X-Request-Id" => "0123456789", "Accept" => "application/json" }.freeze

        # By one client of Plait.
        class Plait < OrdinaryCalls
          WAYS = {
            plain: ->(client, url) { client.get(url) },
            headers: ->(client, url) { client.get(url, headers: HEADERS) },
            timeout: ->(client, url) { client.get(url, timeout: 5) },
            post_json: ->(client, url) { client.post(url, json: DATA) }
          }.freeze

          def initialize(site, limit, way:)
            super
            require "plait/http"
            @client = ::Plait::HTTP::Client.new(cookies: (true if way == :cookies), base: (site.origin if way == :base))
            @client.settings.cookies&.add(site.origin, "session=31d4d96e407aad42")
            @call = WAYS.fetch(way, WAYS[:plain])
          end

          def requests(targets) = @way == :base ? targets : super

          def get(requests) = requests.map { |url| @call.call(@client, url).body }
        end

        # By one started Net::HTTP.
        class NetHttp < OrdinaryCalls
          WAYS = {
            plain: ->(http, target) { http.get(target) },
            headers: ->(http, target) { http.get(target, HEADERS) },
            cookies: ->(http, target) { http.get(target, "Cookie" => "session=31d4d96e407aad42") },
            post_json: ->(http, target) { http.post(target, JSON.generate(DATA), "Content-Type" => "application/json") },
            redirect: ->(http, target) { http.get(URI(http.get(target)["location"]).request_uri) }
          }.freeze

          def initialize(site, limit, way:)
            super
            require "net/http"
            @http = Net::HTTP.start(site.host, site.effective_port)
            @http.read_timeout = 5
            @call = WAYS.fetch(way, WAYS[:plain])
          end

          def requests(targets) = targets

          def get(requests) = requests.map { |target| @call.call(@http, target).body }
        end

        def initialize(site, limit, way:)
          super(site, limit)
          @way = way
        end
      end
    end
  end
end
