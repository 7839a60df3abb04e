# frozen_string_literal: true

require "plait/values/errors"

module Plait
  # See {Client}.
  module HTTP
    # The methods of HTTP (RFC 9110 §9.3) as methods of Ruby, for who has `request`: {HTTP} itself and each {Client}. GET is
    # their own.
    module Verbs
      # @param url [String, URI, URL]
      # @param options [Hash, nil] as of `request`; a Hash or keywords
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def head(url, options = nil, **more, &block) = request(:head, url, options, **more, &block)

      # @param url [String, URI, URL]
      # @param options [Hash, nil] as of `request`; a Hash or keywords
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def post(url, options = nil, **more, &block) = request(:post, url, options, **more, &block)

      # @param url [String, URI, URL]
      # @param options [Hash, nil] as of `request`; a Hash or keywords
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def put(url, options = nil, **more, &block) = request(:put, url, options, **more, &block)

      # @param url [String, URI, URL]
      # @param options [Hash, nil] as of `request`; a Hash or keywords
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def patch(url, options = nil, **more, &block) = request(:patch, url, options, **more, &block)

      # @param url [String, URI, URL]
      # @param options [Hash, nil] as of `request`; a Hash or keywords
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def delete(url, options = nil, **more, &block) = request(:delete, url, options, **more, &block)

      # @param url [String, URI, URL]
      # @param options [Hash, nil] as of `request`; a Hash or keywords
      # @return [Response]; with a block: what the block returns
      # @raise (see Client#request)
      def options(url, options = nil, **more, &block) = request(:options, url, options, **more, &block)

      private

      # @return [Hash]
      # @raise [UsageError]
      def keywords(options)
        return options.to_h if options.nil? || options.is_a?(Hash)

        raise UsageError, "options are a Hash or keywords, not #{options.class}; a body goes by body:, json:, form: or multipart:"
      end
    end
  end
end
