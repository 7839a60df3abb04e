# frozen_string_literal: true

require "plait"
# Where it is required by name: opening the constant must not load it a second time.
Plait.autoload(:HTTP, __FILE__) if Plait.autoload?(:HTTP)

require "plait/io/native"
require "plait/protocols/http1"
require_relative "http/auth"
require_relative "http/codings"
require_relative "http/headers"
require_relative "http/timeouts"
require_relative "http/upload"
require_relative "http/url"
require_relative "http/cookie_jar"
require_relative "http/request"
require_relative "http/response"
require_relative "http/redirects"
require_relative "http/client"
require_relative "http/options"
require_relative "http/verbs"

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

    # The clients behind calls such as `Plait::HTTP.get(url, proxy: …)`: one for each set of a client's options, kept with its
    # connections for the next call with the same ones.
    class Derived
      # Unused clients that are kept; raising it keeps more unused connections.
      KEPT = 16
      Entry = Struct.new(:client, :calls)
      private_constant :KEPT, :Entry

      def initialize
        @lock = Mutex.new
        @entries = {} # options => Entry, the least recently used first
      end

      # @param options [Hash] of a client
      # @yieldparam client [Client]
      # @return [Object] the block's value
      # @raise [UsageError]
      def with(options, &block)
        return Client.open(**options, &block) if options.key?(:cookies) # the next caller must not get them

        begin
          entry = nil
          Uninterruptible.run { entry = take(options) }
          yield entry.client
        ensure
          Uninterruptible.run { give_back(entry) } if entry
        end
      end

      private

      def take(options)
        @lock.synchronize do
          key = options.transform_values { |value| value.is_a?(Hash) ? value.dup.freeze : value }.freeze
          entry = @entries.delete(key) || Entry.new(Client.new(**key), 0)
          entry.calls += 1
          @entries[key] = entry
        end
      end

      def give_back(entry)
        surplus = @lock.synchronize do
          entry.calls -= 1
          key, = @entries.find { |_, other| other.calls.zero? } if @entries.size > KEPT
          @entries.delete(key) if key
        end
        surplus&.client&.close
      end
    end

    @lock = Mutex.new
    @derived = Derived.new

    class << self
      # @param url [String, URI, URL]
      # @param options [Hash, nil] of the request, see {Client#request}, and of the client, see {Client#initialize}: calls with
      #   the same ones share a client and its connections; one with `cookies:` has a client of its own
      # @return [Response]; with a block: the block's value
      # @raise (see Client#request)
      def get(url, options = nil, &block) = options ? request(:get, url, options, &block) : client.get(url, &block)

      # (see #get)
      # @param method [Symbol, String]
      def request(method, url, options = nil, &block)
        with_client(keywords(options), OF_CLIENTS) { |client, about| client.request(method, url, about, &block) }
      end

      # A response whose body is read later. See {Client#stream}.
      # @param (see #request)
      # @return [Response]
      # @raise (see Client#request)
      def stream(method, url, options = nil, &block)
        with_client(keywords(options), OF_CLIENTS) { |client, about| client.stream(method, url, about, &block) }
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
        names |= [:auth] if options&.key?(:refresh) # which is for the client's credentials
        own = options&.slice(*names)
        return yield(client, options) if own.nil? || own.empty?

        derived.with(own) { |client| yield(client, options.except(*names)) }
      end
    end

    # Options of a client that a request does not have.
    OF_CLIENTS = (Options::NAMES - %i[headers timeout auth retries redirects]).freeze
    private_constant :Derived, :OF_CLIENTS
  end
end
