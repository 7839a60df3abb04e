# frozen_string_literal: true

require "faraday"
require_relative "../../http"
require "plait/values/errors"
require_relative "clients"
require_relative "parallel"

module Plait
  module HTTP
    module Faraday
      # Faraday's way to Plait::HTTP. Redirects, retries and cookies are left to Faraday's own middleware.
      class Adapter < ::Faraday::Adapter
        # What no longer holds when a body was decoded: middleware would decode it again, or keep it with a wrong length.
        OF_CODED = %w[Content-Encoding Content-Length].freeze
        private_constant :OF_CODED

        self.supports_parallel = true

        # @return [Parallel] for `connection.in_parallel { … }`: its requests are sent together when the block ends
        def self.setup_parallel_manager(limit: Parallel::LIMIT) = Parallel.new(limit)

        # @param options [Hash] of {Client#initialize}, such as `pool:`; what Faraday says of a request comes before them
        def initialize(app = nil, options = {}, &block)
          super
          @clients = Clients.new(options)
        end

        # @return [Client]
        def build_connection(env) = @clients.fetch(env)

        def call(env)
          super
          env.parallel? ? env.parallel_manager.add { perform(env) } : perform(env)
          @app.call(env)
        end

        # Closes idle connections.
        def close = @clients.close

        private

        def perform(env)
          client = build_connection(env)
          env.stream_response? ? stream(client, env) : whole(client, env)
        rescue TLSError => e
          raise ::Faraday::SSLError, e
        rescue ConnectTimeout, PoolTimeout, ConnectionError, RemoteProtocolError => e
          raise ::Faraday::ConnectionFailed, e
        rescue Plait::TimeoutError => e
          raise ::Faraday::TimeoutError, e
        end

        def whole(client, env)
          response = client.request(env.method, env.url.to_s, **about(env))
          save(env, response, response.text)
        end

        # What was said of the response is known to the receiver of its first piece.
        def stream(client, env)
          env.stream_response do |&on_data|
            client.request(env.method, env.url.to_s, **about(env)) do |response|
              save(env, response, nil, finished: false)
              response.each_piece(&on_data)
            end
          end
          env.response.finish(env)
        end

        # GET and others with a body: Faraday asks for it by giving one.
        def about(env)
          { headers: env.request_headers.to_h, body: env.body, allow_body: true, timeout: timeouts(env.request) }
        end

        # `timeout` is Faraday's word for each phase, not for the whole.
        def timeouts(request)
          check_write_timeout(request)
          { connect: request_timeout(:open, request), read: request_timeout(:read, request),
            first_byte: request_timeout(:read, request) }.compact
        end

        # `read` is for what is sent, too.
        def check_write_timeout(request)
          write, read = %i[write read].map { |kind| request_timeout(kind, request) }
          return if write.nil? || write == read

          raise UsageError, "the adapter :plait has one time for sending and receiving: give Faraday's write_timeout " \
                            "(#{write}) and read_timeout (#{read.inspect}) the same value"
        end

        def save(env, response, body, finished: true)
          save_response(env, response.status, body, nil, response.reason, finished: finished) do |headers|
            response.headers.each { |name, value| headers[name] = [headers[name], value].compact.join(", ") }
            OF_CODED.each { |name| headers.delete(name) } if response.decoded?
          end
          env.response.finish(env) if env.parallel? && finished
        end
      end
    end
  end
end
