# frozen_string_literal: true

require_relative "../../http"
require "plait/values/errors"

module Plait
  module HTTP
    module Faraday
      # A client for each way to connect: Faraday gives TLS and proxy anew with every request, and connections are kept only
      # among those that agree in them.
      class Clients
        # Faraday has middleware for these, and an application has chosen them or not.
        LEFT_TO_FARADAY = { redirects: 0, retries: 0, cookies: nil }.freeze
        TLS = { ca_file: :ca_file, ca_path: :ca_path, cert_store: :cert_store, client_key: :key, min_version: :min_version,
                ciphers: :ciphers, hostname: :hostname, private_key: :key, verify_hostname: :verify_hostname }.freeze
        # What Faraday takes and a client of ours does not have => what to do instead.
        MISSING = { verify_depth: "leave it out", version: "use min_version", max_version: "leave it out" }.freeze
        private_constant :LEFT_TO_FARADAY, :TLS, :MISSING

        # @param options [Hash] of {Client#initialize}
        def initialize(options)
          @options = LEFT_TO_FARADAY.merge(options)
          @clients = {}
          @lock = Mutex.new
        end

        # @param env [Faraday::Env]
        # @return [Client]
        # @raise [UsageError] for what it does not have
        def fetch(env)
          options = { tls: tls(env.ssl), proxy: proxy(env.request.proxy), connector: connector(env.request.bind) }.compact
          @lock.synchronize { @clients[options] ||= Client.new(**@options, **options) }
        end

        # @return [void]
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
          return if bind.nil?

          refuse("request: bind with a port", "give its host alone") if bind[:port].to_i.positive?
          { **@options.fetch(:connector, {}), local_address: bind[:host] }
        end

        def refuse(what, advice) = raise(UsageError, "the adapter :plait has no option for Faraday's #{what}: #{advice}")

        # Without one in Faraday there is none: it has looked at the environment itself.
        def proxy(proxy)
          return false unless proxy

          uri = proxy.uri.dup
          uri.user, uri.password = [proxy.user, proxy.password].map { |word| word && URI.encode_www_form_component(word) }
          uri.to_s
        end
      end
    end
  end
end
