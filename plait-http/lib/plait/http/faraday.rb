# frozen_string_literal: true

require "faraday"
require_relative "../http"

module Plait
  module HTTP
    # `require "plait/http/faraday"`, then `adapter :plait`: applications built on Faraday use Plait's client, with its pool
    # of connections, under any mechanism.
    #
    # @example
    #   api = Faraday.new("https://api.example") { |builder| builder.adapter(:plait) }
    #   Plait.map(1..1_000, on: :fibers, limit: 64) { |id| api.get("/items/#{id}").body }
    module Faraday
      # Faraday's way to Plait::HTTP. Redirects, retries and cookies are left to Faraday's own middleware.
      class Adapter < ::Faraday::Adapter
        # Fields that are wrong once a body was decoded: middleware would decode it again, or keep a wrong length.
        OF_CODED = %w[Content-Encoding Content-Length].freeze
        private_constant :OF_CODED

        self.supports_parallel = true

        # @return [Parallel] for `connection.in_parallel { … }`: its requests are sent together when the block ends
        def self.setup_parallel_manager(limit: Parallel::LIMIT) = Parallel.new(limit)

        # @param options [Hash] of {Client#initialize}, such as `pool:`; Faraday's options of a request win
        def initialize(app = nil, options = {}, &block)
          super
          @clients = Clients.new(options)
        end

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

        # Status and headers are known when the first piece comes.
        def stream(client, env)
          env.stream_response do |&on_data|
            client.request(env.method, env.url.to_s, **about(env)) do |response|
              save(env, response, +"", finished: false)
              response.each_piece(&on_data)
            end
          end
          env.response.finish(env)
        end

        # GET and others with a body: Faraday asks for it by giving one.
        def about(env) = { headers: env.request_headers.to_h, body: env.body, allow_body: true, timeout: timeouts(env.request) }

        # `timeout` is Faraday's word for each phase, not for the whole.
        def timeouts(request)
          read = request_timeout(:read, request)
          { connect: request_timeout(:open, request), read: read, first_byte: read,
            write: request_timeout(:write, request) }.compact
        end

        def save(env, response, body, finished: true)
          save_response(env, response.status, body, nil, response.reason, finished: finished) do |headers|
            response.headers.each { |name, value| headers[name] = [headers[name], value].compact.join(", ") }
            OF_CODED.each { |name| headers.delete(name) } if response.decoded?
          end
          env.response.finish(env) if env.parallel? && finished
        end
      end

      # A client for each way to connect: Faraday gives TLS and proxy with every request, and only clients with the same
      # options share connections.
      class Clients
        # Faraday has middleware for these, and an application has chosen them or not.
        LEFT_TO_FARADAY = { redirects: 0, retries: 0, cookies: nil }.freeze
        TLS = { ca_file: :ca_file, ca_path: :ca_path, cert_store: :cert_store, client_key: :key, min_version: :min_version,
                ciphers: :ciphers, hostname: :hostname, private_key: :key, verify_hostname: :verify_hostname }.freeze
        # Options of Faraday that a client of ours does not have => what to do instead.
        MISSING = { verify_depth: "leave it out", version: "use min_version", max_version: "leave it out" }.freeze
        private_constant :LEFT_TO_FARADAY, :TLS, :MISSING

        # @param options [Hash] of {Client#initialize}
        def initialize(options)
          @options = LEFT_TO_FARADAY.merge(options)
          @clients = {}
          @lock = Mutex.new
        end

        # @raise [UsageError] for an option that it does not have
        def fetch(env)
          options = { tls: tls(env.ssl), proxy: proxy(env.request.proxy), connector: connector(env.request.bind) }.compact
          @lock.synchronize { @clients[options] ||= Client.new(**@options, **options) }
        end

        def close
          clients = @lock.synchronize { @clients.values.tap { @clients.clear } }
          clients.each(&:close)
        end

        private

        def tls(ssl)
          return if ssl.nil? || ssl.empty?

          ssl = ssl.to_h.compact
          MISSING.each { |name, advice| refuse("ssl: #{name}", advice) if ssl.key?(name) }
          options = { **ssl.slice(*TLS.keys).transform_keys(TLS), **identity(ssl) }
          options[:verify] = false if ssl[:verify] == false || ssl[:verify_mode] == 0
          options unless options.empty?
        end

        def identity(ssl)
          certificate, *chain = ssl[:client_cert] || ssl[:certificate]
          certificate ? { certificate: certificate, chain: chain } : {}
        end

        def connector(bind)
          { **@options.fetch(:connector, {}), local_address: bind[:host], local_port: bind[:port].to_i } if bind
        end

        def refuse(what, advice) = raise(UsageError, "the adapter :plait has no option for Faraday's #{what}: #{advice}")

        # Without one in Faraday there is none: it has looked at the environment itself.
        def proxy(proxy)
          return false unless proxy

          uri = proxy.uri.dup
          uri.user, uri.password = [proxy.user, proxy.password].map { |word| word && encode(word) }
          uri.to_s
        end

        # A "+" for a blank is of forms alone.
        def encode(word) = URI.encode_www_form_component(word).gsub("+", "%20")
      end

      # The requests of `connection.in_parallel { … }`, sent by fibers when the block ends.
      class Parallel
        # Requests in flight at most.
        LIMIT = 64

        def initialize(limit)
          @limit = limit
          @waiting = []
        end

        # @yieldreturn [void] sends the request and finishes its response
        def add(&perform) = @waiting << perform

        # Faraday calls it at the end of the block. Callbacks of a response may add further requests.
        # @raise [Exception] the first failure, after which the others are not sent
        def run
          until @waiting.empty?
            waiting, @waiting = @waiting, []
            Plait.map(waiting, on: :fibers, limit: @limit, &:call)
          end
        end
      end
      private_constant :Clients, :Parallel

      ::Faraday::Adapter.register_middleware(plait: Adapter)
    end
  end
end
