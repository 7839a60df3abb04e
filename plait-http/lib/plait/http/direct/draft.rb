# frozen_string_literal: true

require_relative "../form"

module Plait
  module HTTP
    class Direct
      # One call with options. Its response makes a {Request} of it, on demand.
      class Draft
        # Options for which nil is as good as nothing.
        KNOWN = %i[headers timeout query json form body multipart auth allow_body redirects retries].freeze
        NAMES = %i[get head post put patch delete options].to_h { |method| [method, method.name.upcase.freeze] }.freeze
        BODILESS = %i[get head].freeze
        LENGTH_EXPECTED = %i[post put patch].freeze
        # What a query that is given as a String can't have.
        FORBIDDEN = /[^\x21-\x7e]|#/

        # @return [Draft, nil] nil: an option needs more than the short way
        # @raise [UsageError]
        def self.of(method, url, options)
          return unless NAMES.key?(method)

          draft = new(method, url)
          draft if options.nil? || options.all? { |name, value| draft.take(name, value) }
        end

        # @return [String] whole, with the query
        attr_reader :url
        # @return [Object, nil] see {Timeouts.from}
        attr_reader :timeout

        # The caller may change what it has given, and the response tells what was sent.
        def initialize(method, url)
          @method = method
          @url = url.dup
        end

        # @return [Boolean] whether the short way knows this option, in this form
        # @raise [UsageError]
        def take(name, value)
          return KNOWN.include?(name) if value.nil?

          case name
          when :query then add_query(value)
          when :json, :form, :body then add_body(name, value)
          else keep(name, value)
          end
        end

        # @param cookie [String, nil]
        # @return [Boolean] whether the head is written; false: a field needs more thought, or the extension is not there
        # @raise [UsageError]
        def compose(route, cookie)
          return false unless Native.available?

          length = @body ? @body.bytesize : (0 if LENGTH_EXPECTED.include?(@method))
          @head = NativeHTTP.head(NAMES[@method], @url, route.offset, route.block, fields, @type, length, cookie)
          !@head.nil?
        end

        # @raise [Error]
        def send_on(wire, timeouts, deadline)
          response = wire.call(@head, @body, @method == :head ? 1 : 0, timeouts, deadline)
          response.url = @url
          response.request = self
          response
        end

        # @return [Boolean] whether redirects are followed
        def follows? = !@stays

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
          headers = Headers.new(@headers)
          headers.add("Content-Type", @type) if @type && !headers.mentions?("Content-Type")
          Request.new(@method, @url, headers: headers, body: @body, auth: @auth, timeout: @timeout)
        end

        private

        def keep(name, value)
          case name
          when :headers then @headers = value.dup if value.is_a?(Hash)
          when :timeout then @timeout = value
          when :auth then @auth = value if Auth.plain?(value)
          when :redirects then @stays = true if value == false
          end
        end

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

        # @return [Hash, nil, false] false where two of the options say something about one field
        def fields
          return @headers unless @auth
          return false if @headers&.any? { |name, _| name.to_s.casecmp?("authorization") }

          { "Authorization" => Auth.header(@auth), **@headers.to_h }
        end
      end
    end
  end
end
