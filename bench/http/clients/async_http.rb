# frozen_string_literal: true

require_relative "../../core/support/async_peer"
require "async/http"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # One client with its pool of connections, shared by as many tasks as may be in flight.
      class AsyncHttp < Client
        def requests(targets) = targets

        def get(requests)
          bodies = Array.new(requests.size)
          jobs = requests.each_index.to_a
          Async do |parent|
            Async::HTTP::Client.open(endpoint) do |client|
              workers = Array.new([limit, requests.size].min) { parent.async { work(client, jobs, requests, bodies) } }
              workers.each(&:wait)
            end
          end.wait
          bodies
        end

        private

        def endpoint
          return Async::HTTP::Endpoint.parse(site.origin) unless site.tls

          context = OpenSSL::SSL::SSLContext.new
          context.set_params(ca_file: site.ca_file)
          Async::HTTP::Endpoint.parse(site.origin, ssl_context: context)
        end

        def work(client, jobs, requests, bodies)
          while (index = jobs.shift)
            bodies[index] = client.get(requests[index]).read
          end
        end
      end
    end
  end
end
