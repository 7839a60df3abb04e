# frozen_string_literal: true

require_relative "form"
require_relative "multipart"

module Plait
  module HTTP
    # A request to a server. It is checked when it is made: one that can't be sent raises before anything is sent.
    class Request
      # Keys of a Hash that stands for a request.
      KEYS = %i[method url headers body query json form multipart auth timeout allow_body].freeze
      # RFC 9110 §9.2.2
      IDEMPOTENT = %w[GET HEAD PUT DELETE OPTIONS TRACE].freeze
      # Methods whose requests have no body, or none that means anything (RFC 9110 §9.3).
      BODILESS = %w[GET HEAD TRACE CONNECT].freeze
      OPTIONS = (KEYS - %i[method url]).freeze
      # @api private
      JSON_TYPE = "application/json"
      private_constant :OPTIONS

      class << self
        # @param spec [Request, String, URI, URL, Hash] a Hash has `url:` and the options of {#initialize}
        # @param base [URL, nil]
        # @return [Request]
        # @raise [UsageError]
        def from(spec, base: nil)
          case spec
          when Request then spec
          when Hash then from_hash(spec, base)
          else new(:get, spec, base: base)
          end
        end

        # @api private
        # @return [String]
        # @raise [UsageError]
        def json(value)
          require "json"
          JSON.generate(value)
        rescue JSON::GeneratorError, JSON::NestingError, EncodingError => e
          raise UsageError, "json: #{e.message}"
        end

        private

        def from_hash(spec, base)
          UsageError.check_names(spec, KEYS, "a request")
          new(spec.fetch(:method, :get), spec[:url], base: base, **spec.except(:method, :url))
        end
      end

      # @return [String] "GET"
      attr_reader :method
      # @return [URL]
      attr_reader :url
      # @return [Headers] its own, without the client's
      attr_reader :headers
      # @return [Object, nil] String, IO, #each, or a multipart body
      attr_reader :body
      # @return [Object, nil] see {Auth.header}
      attr_reader :auth
      # @return [Object, nil] see {Timeouts.from}
      attr_reader :timeout

      # @param method [Symbol, String]
      # @param url [String, URI, URL]
      # @param base [URL, nil] the base of a relative URL
      # @param headers [Headers, Hash, nil] nil for a field removes that of the client
      # @param query [Hash, Array, String, nil] added to the URL's: {a: {b: 1}, c: [1, 2]} as Rack and Rails read it
      # @param content [Hash] one of these
      # @option content [String, #read, #each, nil] :body
      # @option content [Object, nil] :json sent as JSON
      # @option content [Hash, Array, nil] :form sent as application/x-www-form-urlencoded
      # @option content [Hash, Array, nil] :multipart sent as multipart/form-data
      # @param auth [Object, false, nil] see {Auth.header}; nil: the URL's, or the client's; false: none
      # @param timeout [Numeric, Hash, Timeouts, nil]
      # @param allow_body [Boolean] for a GET or HEAD with a body, which servers may ignore or refuse (RFC 9110 §9.3.1)
      # @raise [UsageError]
      def initialize(method, url, base: nil, headers: nil, query: nil, auth: nil, timeout: nil, allow_body: false, **content)
        @method = checked_method(method)
        @url = URL.parse(url, base: base)
        @url = @url.with_query(query.is_a?(String) ? query : Form.encode(query)) unless query.nil?
        @headers = Headers.new(headers)
        @auth = auth.nil? ? @url.userinfo : Auth.prepared(auth)
        @timeout = timeout
        @body = body_of(content)
        refuse_body if @body && !allow_body && BODILESS.include?(@method)
      end

      # @return [Origin]
      def origin = @url.origin

      # @return [Boolean] RFC 9110 §9.2.2
      def idempotent? = IDEMPOTENT.include?(@method)

      # @return [Boolean] whether the body can be sent again
      def replayable? = @body.nil? || Upload.wrap(@body).replayable?

      # @param fields [Hash] that replace the fields of the same name
      # @return [Request]
      # @api private
      def with_headers(fields)
        return self if fields.empty?

        dup.tap { |copy| copy.instance_exec { @headers = @headers.merge(fields) } }
      end

      # @return [Request] for a response: without the body and the credentials
      # @api private
      def without_body = dup.tap { |copy| copy.instance_exec { @body = @auth = nil } }

      # @return [String]
      def inspect = "#<#{self.class} #{@method} #{@url}>"

      private

      def checked_method(method)
        text = method.to_s
        text = text.upcase if method.is_a?(Symbol) || text.match?(/\A[a-z]+\z/)
        return text.freeze if Protocols::HTTP1::Syntax::TOKEN.match?(text.b)

        raise UsageError, "#{method.inspect} can't be the method of a request (RFC 9110 §9.1)"
      end

      def body_of(content)
        UsageError.check_names(content, OPTIONS, "a request")
        given = content.compact
        raise UsageError, "a request has one body: #{given.keys.join(" or ")}" if given.size > 1

        given.empty? ? nil : send(:"as_#{given.keys.first}", given.values.first)
      end

      def as_body(body)
        Upload::Source.refuse_path(body)
        return body if body.is_a?(String) || body.respond_to?(:read) || body.respond_to?(:each)

        raise UsageError, "body: takes a String, something to read or an Enumerable of Strings, not #{body.class}; " \
                          "for data there are json:, form: and multipart:"
      end

      def as_json(value)
        typed(JSON_TYPE)
        self.class.json(value)
      end

      def as_form(fields)
        typed(Form::CONTENT_TYPE)
        Form.encode(fields)
      end

      def as_multipart(fields)
        body = fields.is_a?(Multipart) ? fields : Multipart.new(fields)
        @headers.set("Content-Type", body.content_type)
        body
      end

      def typed(type) = (@headers.add("Content-Type", type) unless @headers.mentions?("Content-Type"))

      def refuse_body
        raise UsageError, "a #{@method} with a body: servers may ignore or refuse it (RFC 9110 §9.3.1); say allow_body: true " \
                          "if this one takes it, or use post"
      end
    end
  end
end
