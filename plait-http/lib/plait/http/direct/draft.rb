# frozen_string_literal: true

require "plait/io/native"
require_relative "../headers"
require_relative "../request"

module Plait
  module HTTP
    class Direct
      # One call with options. Its response makes a {Request} of it, on demand.
      class Draft
        NAMES = %i[get head post put patch delete options].to_h { |method| [method, method.name.upcase.freeze] }.freeze
        BODILESS = %i[get head].freeze
        LENGTH_EXPECTED = %i[post put patch].freeze
        NONE = {}.freeze
        # What a query that is given as a String can't have.
        FORBIDDEN = /[^\x21-\x7e]|#/
        private_constant :NAMES, :BODILESS, :LENGTH_EXPECTED, :NONE, :FORBIDDEN

        # @return [Draft, nil] nil: an option needs more than the short way
        # @raise [UsageError]
        def self.of(method, url, options)
          return unless NAMES.key?(method)

          draft = new(method, url, options || NONE)
          draft if options.nil? || options.all? { |name, value| draft.take(name, value) }
        end

        # @return [String] whole, with the query
        attr_reader :url

        def initialize(method, url, options)
          @method = method
          @url = url
          @options = options
        end

        # @return [Boolean] whether the short way knows this option, in this form
        # @raise [UsageError]
        def take(name, value)
          return true if value.nil?

          case name
          when :headers, :timeout then true
          when :query then add_query(value)
          when :json, :form, :body then add_body(name, value)
          when :auth then value.is_a?(Array) || value.is_a?(Hash)
          when :redirects then value == false
          end
        end

        # @param cookie [String, nil]
        # @return [Boolean] whether the head is written; false: a field needs more thought
        # @raise [UsageError]
        def compose(route, cookie)
          length = @body ? @body.bytesize : (0 if LENGTH_EXPECTED.include?(@method))
          @head = NativeHTTP.head(NAMES[@method], @url, route.offset, route.block, fields, @type, length, cookie)
          !@head.nil?
        end

        # @return [Object, nil] see {Timeouts.from}
        def timeout = @options[:timeout]

        # @return [Response]
        # @raise [Error]
        def send_on(wire, timeouts, deadline)
          response = wire.call(@head, @body, @method == :head ? 1 : 0, timeouts, deadline)
          response.url = @url
          response.request = self
          response
        end

        # @return [Boolean] whether redirects are followed
        def follows? = @options[:redirects].nil?

        # @return [Boolean] whether the same request, without a body, may follow a redirect
        def repeats? = BODILESS.include?(@method) && follows?

        # @return [Draft] the same call of another URL
        def moved(url, route)
          copy = dup
          copy.instance_exec { @url = url }
          copy.compose(route, nil)
          copy
        end

        # @return [Request] as it was sent
        def request
          headers = Headers.new(@options[:headers])
          headers.add("Content-Type", @type) if @type && !headers.mentions?("Content-Type")
          Request.new(@method, @url, headers: headers, body: @body, auth: @options[:auth], timeout: @options[:timeout])
        end

        private

        def add_query(query)
          text = query.is_a?(Hash) ? Form.encode(query) : query
          return false unless text.is_a?(String) && text.ascii_only? && !@url.match?(/[?#]/) && !text.match?(FORBIDDEN)

          @url = "#{@url}?#{text}" unless text.empty?
          true
        end

        def add_body(name, value)
          return false if @body || BODILESS.include?(@method)

          case name
          when :body then value.is_a?(String) && @body = value
          when :form then @type, @body = Form::CONTENT_TYPE, Form.encode(value)
          when :json then @type, @body = Request::JSON_TYPE, Request.json(value)
          end
        end

        # @return [Object] false where two of the options say something about one field
        def fields
          headers = @options[:headers]
          auth = @options[:auth] or return headers
          return { "Authorization" => Auth.header(auth) } if headers.nil?

          mentioned = !headers.is_a?(Hash) || headers.any? { |name, _| name.to_s.casecmp?("authorization") }
          mentioned ? false : { "Authorization" => Auth.header(auth), **headers }
        end
      end
      private_constant :Draft
    end
  end
end
