# frozen_string_literal: true

module Plait
  # See {Client}.
  module HTTP
    # The methods of HTTP (RFC 9110 §9.3) as methods of Ruby, for who has `request`: {HTTP} itself and each {Client}. GET is
    # their own.
    module Verbs
      # @param url [String, URI, URL]
      # @param options [Hash] as of `request`
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def head(url, **options, &block) = request(:head, url, **options, &block)

      # @param url [String, URI, URL]
      # @param options [Hash] as of `request`
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def post(url, **options, &block) = request(:post, url, **options, &block)

      # @param url [String, URI, URL]
      # @param options [Hash] as of `request`
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def put(url, **options, &block) = request(:put, url, **options, &block)

      # @param url [String, URI, URL]
      # @param options [Hash] as of `request`
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def patch(url, **options, &block) = request(:patch, url, **options, &block)

      # @param url [String, URI, URL]
      # @param options [Hash] as of `request`
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def delete(url, **options, &block) = request(:delete, url, **options, &block)

      # @param url [String, URI, URL]
      # @param options [Hash] as of `request`
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def options(url, **options, &block) = request(:options, url, **options, &block)
    end
  end
end
