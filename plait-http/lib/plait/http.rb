# frozen_string_literal: true

require "plait"
# Where it is required by name: opening the constant must not load it a second time.
Plait.autoload(:HTTP, __FILE__) if Plait.autoload?(:HTTP)

require_relative "http/client"
require_relative "http/derived"
require_relative "http/options"
require_relative "http/response"

module Plait
  # HTTP: plain calls on any mechanism, connections kept, many requests at once.
  #
  # @example
  #   Plait::HTTP.get("https://example.org/").body
  #   Plait::HTTP.post("https://example.org/things", json: {name: "Ada"}, timeout: 5)
  #   Plait::HTTP.fan_out(urls, limit: 256) { |response| puts "#{response.status} #{response.url}" }
  #   Plait.map(urls, on: :threads) { |url| Plait::HTTP.get(url).json }
  module HTTP
    extend Verbs

    @lock = Mutex.new
    @derived = Derived.new

    class << self
      # @param url [String, URI, URL]
      # @param options [Hash, nil] of the request, see {Client#request}, and of the client, see {Client#initialize}: calls with
      #   the same ones share a client and its connections; one with `cookies:` has a client of its own
      # @return [Response]; with a block: the block's value
      # @raise (see Client#request)
      def get(url, options = nil, &block)
        options ? request(:get, url, options, &block) : client.get(url, &block)
      end

      # @param method [Symbol, String]
      # @param url [String, URI, URL]
      # @param options [Hash, nil] (see #get)
      # @return [Response]; with a block: the block's value
      # @raise (see Client#request)
      def request(method, url, options = nil, &block)
        with_client(keywords(options), OF_CLIENTS) { |client, about| client.request(method, url, about, &block) }
      end

      # Sends many requests at once. See {Client#fan_out}; options of the client, see {Client#initialize}, give it a client of
      # its own.
      # @yieldparam response [Response, Outcome]
      # @return [Array<Response, Outcome>, nil]
      # @raise (see Client#fan_out)
      def fan_out(requests, options = nil, **more, &block)
        names = Options::NAMES - [:timeout]
        with_client({ **more, **keywords(options) || {} }, names) { |client, about| client.fan_out(requests, **about, &block) }
      end

      # @return [Client] the one behind these calls
      # @raise [UnsupportedError] in a ractor
      def client
        @client || @lock.synchronize { @client ||= Client.new }
      rescue StandardError
        Ractors.refuse_others! # Ruby only says that something can't be shared
        raise
      end

      private

      def derived
        @derived
      rescue StandardError
        Ractors.refuse_others!
        raise
      end

      def with_client(options, names)
        own = options&.slice(*names)
        return yield(client, options) if own.nil? || own.empty?

        derived.with(own) { |client| yield(client, options.except(*names)) }
      end
    end

    # Options of a client that a request does not have.
    OF_CLIENTS = (Options::NAMES - %i[headers timeout auth retries redirects]).freeze
    private_constant :OF_CLIENTS
  end
end
