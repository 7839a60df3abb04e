# frozen_string_literal: true

require "uri"
require "plait/protocols/http1/syntax"
require "plait/values/errors"
require_relative "headers"
require_relative "multipart"
require_relative "timeouts"
require_relative "upload"
require_relative "url"

module Plait
  module HTTP
    # The Authorization field (RFC 9110 §11.6.2): Basic (RFC 7617), Bearer (RFC 6750), or a text of the caller.
    # @api private
    module Auth
      FORMS = "[user, password], {basic: [user, password]}, {bearer: token}, the value of the field as a String, or something " \
              "to call that returns one of these"
      # RFC 6750 §2.1
      TOKEN = %r{\A[A-Za-z0-9\-._~+/]+=*\z}
      private_constant :TOKEN

      class << self
        # @param auth [Array(String, String), Hash, String, #call, nil]
        # @return [String, nil] the value of the field
        # @raise [UsageError] for anything else; it never tells the secret
        def header(auth)
          case auth
          when nil, false then nil
          when String then auth
          when Array then basic(*auth)
          when Hash then from_hash(auth)
          else header(called(auth))
          end
        end

        # @param user [String] without a colon
        # @param password [String]
        # @return [String]
        # @raise [UsageError]
        def basic(user = nil, password = nil, *rest)
          raise UsageError, "auth: Basic takes a user and a password: [user, password]" if user.nil? || rest.any?
          raise UsageError, "auth: the user of Basic can't have a colon (RFC 7617 §2)" if user.to_s.include?(":")

          "Basic #{["#{user}:#{password}"].pack("m0")}"
        end

        # @param token [String]
        # @return [String]
        # @raise [UsageError]
        def bearer(token)
          return "Bearer #{token}" if TOKEN.match?(token.to_s)

          raise UsageError, "auth: a Bearer token has letters, digits and -._~+/= only (RFC 6750 §2.1)"
        end

        private

        def from_hash(auth)
          kind, value = auth.first
          return public_send(kind, *value) if auth.size == 1 && %i[basic bearer].include?(kind)

          raise UsageError, "auth: takes #{FORMS}; not a Hash of #{auth.keys.map(&:inspect).join(", ")}"
        end

        def called(auth)
          raise UsageError, "auth: takes #{FORMS}; not #{auth.class}" unless auth.respond_to?(:call)

          value = auth.call
          raise UsageError, "auth: the callable returned another callable" if value.respond_to?(:call)

          value
        end
      end
    end

    # application/x-www-form-urlencoded: queries, and the bodies of plain forms.
    module Form
      # The value of Content-Type.
      CONTENT_TYPE = "application/x-www-form-urlencoded"
      # A text that is its own form.
      PLAIN = /\A[\w*.-]*\z/
      private_constant :PLAIN

      module_function

      # @example
      #   Form.encode(q: "a b", tag: ["x", "y"], debug: nil)   # => "q=a+b&tag=x&tag=y&debug"
      # @param fields [Hash, Enumerable<Array(#to_s, Object)>] names and values. An Array is the field once for each of its
      #   elements, nil a name without a value; a binary String is encoded as it is, any other in UTF-8
      # @return [String] ASCII
      # @raise [UsageError] for a value that has no such form
      def encode(fields)
        raise UsageError, no_fields(fields) unless fields.respond_to?(:flat_map)

        fields.each_with_object(+"") do |(name, value), text|
          value.is_a?(Array) ? value.each { |one| append(text, name, one) } : append(text, name, value)
        end
      end

      # @api private
      def append(text, name, value)
        text << "&" unless text.empty?
        text << escape(name, name)
        text << "=" << escape(name, value) unless value.nil?
      end

      # @api private
      def escape(name, value)
        raise UsageError, unfit(name, value) if value.respond_to?(:read) || value.respond_to?(:each)

        text = value.is_a?(Symbol) ? value.name : value.to_s
        return text if text.ascii_only? && text.match?(PLAIN)

        text = text.encode(Encoding::UTF_8) unless text.encoding == Encoding::BINARY
        URI.encode_www_form_component(text)
      rescue EncodingError => e
        raise UsageError, "the form's field #{name.inspect} can't be put into UTF-8: #{e.message}"
      end

      # @api private
      def no_fields(given)
        "a form takes a Hash or pairs of names and values, not #{given.class}; an encoded form goes into body: or " \
          "query: as a String"
      end

      # @api private
      def unfit(name, value)
        return "the form's field #{name.inspect} is a file: a form with files is multipart:" if value.respond_to?(:read)

        "the form's field #{name.inspect} is a #{value.class}: a form has no nested fields; say which name each value " \
          "shall have, such as #{"#{name}[key]".inspect}"
      end
    end
    private_constant :Auth, :Form

    # A request to a server. It is checked when it is made: one that can't be sent raises before anything is sent.
    class Request
      # Keys of a Hash that stands for a request.
      KEYS = %i[method url headers body query json form multipart auth timeout allow_body].freeze
      # RFC 9110 §9.2.2
      IDEMPOTENT = %w[GET HEAD PUT DELETE OPTIONS TRACE].freeze
      # Methods whose requests have no body, or none that means anything (RFC 9110 §9.3).
      BODILESS = %w[GET HEAD TRACE CONNECT].freeze
      BODIES = %i[body json form multipart].freeze
      # @api private
      JSON_TYPE = "application/json"
      private_constant :BODIES

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

        # @api private
        def unknown_keys(keys) = "a request doesn't know #{keys.map(&:inspect).join(", ")}; it takes #{KEYS.join(", ")}"

        private

        def from_hash(spec, base)
          unknown = spec.keys - KEYS
          raise UsageError, unknown_keys(unknown) if unknown.any?

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
      # @param query [Hash, String, nil] added to the URL's
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
        @url = @url.with_query(encoded(query)) unless query.nil?
        @headers = Headers.new(headers)
        @auth = auth.nil? ? @url.userinfo : auth
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

      def encoded(query)
        return query if query.is_a?(String)

        Form.encode(query)
      end

      def body_of(content)
        unknown = content.keys - BODIES
        raise UsageError, self.class.unknown_keys(unknown) if unknown.any?

        given = content.compact
        raise UsageError, "a request has one body: #{given.keys.join(" or ")}" if given.size > 1

        given.empty? ? nil : send(:"as_#{given.keys.first}", given.values.first)
      end

      def as_body(body)
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

      def typed(type)
        @headers.add("Content-Type", type) unless @headers.mentions?("Content-Type")
      end

      def refuse_body
        raise UsageError, "a #{@method} with a body: servers may ignore or refuse it (RFC 9110 §9.3.1); say allow_body: true " \
                          "if this one takes it, or use post"
      end
    end
  end
end
