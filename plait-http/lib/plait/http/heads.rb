# frozen_string_literal: true

require "plait/protocols/http1/syntax"
require "plait/protocols/http1/serializer"
require_relative "auth"
require_relative "codings"
require_relative "headers"
require_relative "redirects"

module Plait
  module HTTP
    # The heads of a client's requests: what it sends with all of them, then what a request says itself.
    class Heads
      BODY_EXPECTED = %w[POST PUT PATCH].freeze
      # What says where a request ends or whom it is for is looked at with each request: it must not be sent as somebody has
      # given it, or the peer would take the next request for a part of this one.
      DELICATE = %w[host content-length transfer-encoding expect upgrade].freeze
      private_constant :BODY_EXPECTED, :DELICATE

      # @param options [Options]
      def initialize(options)
        @options = options
        @fields = Headers.new("Accept" => "*/*", "User-Agent" => options.class::AGENT)
        @fields.add("Accept-Encoding", Codings.accept) if options.compression && !part?(options.headers)
        @fields = @fields.merge(options.headers).freeze
        @bare = @fields.dup.tap { |fields| Redirects::CREDENTIALS.each { |name| fields.delete(name) } }.freeze
      end

      # @param origin [Origin]
      # @return [String, nil] all lines but the first of a plain GET; nil when they are not the same each time
      def block(origin)
        return if @options.auth.respond_to?(:call) || DELICATE.any? { |name| @options.headers.mentions?(name) }

        fields = Headers.new("Host" => origin.host_header).merge(@fields).merge(authorization(origin))
        fields.to_s.freeze unless Protocols::HTTP1::Persistence.login_in_request?(fields)
      end

      # @param request [Request]
      # @param target [String] as it stands in the request line
      # @param fields [Headers] see {fields}
      # @return [String]
      # @raise [LocalProtocolError, UsageError]
      def whole(request, target, fields) = Protocols::HTTP1::Serializer.request(request.method, target, fields.to_a)

      # @param request [Request]
      # @param upload [Upload, nil]
      # @param trusted [Boolean] false: a redirect has led to this origin, which is not to know who we are
      # @param extra [Hash{String => String, nil}] fields that come last, such as Cookie
      # @return [Headers] all that go out with it
      # @raise [UsageError]
      def fields(request, upload: nil, trusted: true, extra: {})
        fields = frame(defaults(request, trusted).merge(request.headers), request, upload)
        fields.add("Content-Type", upload.content_type) if upload&.content_type && !request.headers.mentions?("content-type")
        extra.each { |name, value| fields.add(name, value) unless fields.key?(name) || request.headers.mentions?(name) }
        fields
      end

      # @param request [Request]
      # @return [Boolean] whether compressed bodies were asked for by us, and not by the caller
      def decode?(request)
        @options.compression && [request, @options].none? { |given| given.headers.mentions?("accept-encoding") }
      end

      private

      def defaults(request, trusted)
        fields = Headers.new("Host" => request.origin.host_header).merge(trusted ? @fields : @bare)
        fields.delete("Accept-Encoding") if decode?(request) && part?(request.headers)
        return fields.set("Authorization", Auth.header(request.auth)) unless request.auth.nil?

        trusted ? fields.merge(authorization(request.origin)) : fields
      end

      # Of a body that is coded for the way it would be a part of the coded bytes, which nobody can decode.
      def part?(headers) = headers.key?("range")

      # With a base URL the client's credentials are for its origin, without one for all.
      def authorization(origin)
        return unless @options.auth && (@options.base.nil? || @options.base.origin == origin)

        { "Authorization" => Auth.header(@options.auth) }
      end

      # How long the body is, is not for callers to say: the next request would begin somewhere else. Where a body could be,
      # the peer is told that there is none (RFC 9110 §8.6).
      def frame(fields, request, upload)
        fields.delete("Content-Length").delete("Transfer-Encoding")
        return fields.add("Transfer-Encoding", "chunked") if upload&.chunked?

        size = upload ? upload.size : (0 if BODY_EXPECTED.include?(request.method))
        size ? fields.add("Content-Length", size.to_s) : fields
      end
    end
  end
end
