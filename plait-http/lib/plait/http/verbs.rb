# frozen_string_literal: true

module Plait
  module HTTP
    # The methods of HTTP (RFC 9110 §9.3) as methods of Ruby, for {HTTP} itself and each {Client}. Each has its own GET.
    module Verbs
      # @param options [Hash, nil] as of `request`; a Hash or keywords
      # @return [Response]; with a block: the block's value
      # @raise (see Client#request)
      def head(url, options = nil, &block) = request(:head, url, options, &block)

      # (see #head)
      def post(url, options = nil, &block) = request(:post, url, options, &block)

      # (see #head)
      def put(url, options = nil, &block) = request(:put, url, options, &block)

      # (see #head)
      def patch(url, options = nil, &block) = request(:patch, url, options, &block)

      # (see #head)
      def delete(url, options = nil, &block) = request(:delete, url, options, &block)

      # (see #head)
      def options(url, options = nil, &block) = request(:options, url, options, &block)

      private

      def keywords(options)
        return options if options.nil? || options.is_a?(Hash)

        raise UsageError, "options are a Hash or keywords, not #{options.class}; a body goes by body:, json:, form: or multipart:"
      end
    end
    private_constant :Verbs
  end
end
