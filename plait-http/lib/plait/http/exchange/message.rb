# frozen_string_literal: true

module Plait
  module HTTP
    class Exchange
      # A request as it goes out: to which origin, by which route, in which bytes.
      class Message
        # Bits of a wire's `kind`.
        KINDS = { "HEAD" => 1, "CONNECT" => 2 }.freeze
        UPGRADE = 4
        TO_LOG_IN = 8

        attr_reader :request, :route, :upload

        # @param trusted [Boolean] see {Heads#whole}
        def initialize(client, request, retries = client.settings.retries, trusted: true)
          @client = client
          @request = request
          @retries = retries
          @trusted = trusted
          @route = client.routes.fetch(request.origin)
          @upload = Upload.wrap(request.body, chunked: request.headers.key?("transfer-encoding") || nil) if request.body
        end

        # @param request [Request] where a redirect leads to
        def follow(request) = Message.new(@client, request, @retries, trusted: @trusted && request.origin == @request.origin)

        # @return [String] whole
        # @raise [UsageError, LocalProtocolError]
        def head
          @credentials_at = Deadline.now
          all = fields
          @login = Protocols::HTTP1::Persistence.login_in_request?(all)
          @client.heads.whole(@request, @route.forwarded? ? absolute_target : @request.url.target, all)
        end

        # @param response [Response] a 401
        # @param limit [Float, nil] monotonic seconds
        # @return [Boolean] whether the message has other credentials now; once
        def renewed?(response, limit)
          return false if @renewed || !replayable?

          @renewed = @client.heads.renew(response, @request, trusted: @trusted, since: @credentials_at || 0.0, limit: limit)
        end

        # @return [Headers] all that go out with it: the client's, too
        # @raise [UsageError]
        def fields = @client.heads.fields(@request, upload: @upload, trusted: @trusted, extra: extra)

        # @return [String, Upload, nil]
        def body = @upload&.body

        # @return [Integer] of the {head} that was made last, see {Wire#call}
        def kind = KINDS.fetch(@request.method, 0) | (@request.headers.key?("upgrade") ? UPGRADE : 0) | (@login ? TO_LOG_IN : 0)

        # @return [Boolean] whether the body is to wait for the server's word (RFC 9110 §10.1.1)
        def expecting? = !@upload.nil? && @request.headers["expect"].to_s.casecmp?("100-continue")

        # @return [Boolean] whether the body can be sent again
        def replayable? = @upload.nil? || @upload.replayable?

        # @return [Boolean] whether it may be sent twice
        def repeatable? = (@request.idempotent? || @retries.repeat?(@request.method)) && replayable?

        def to_s = "#{@request.method} #{@request.url}"

        private

        def absolute_target = "#{@request.url.scheme}://#{@request.origin.host_header}#{@request.url.target}"

        def extra
          cookies = @client.settings.cookies&.header_for(@request.url)
          { "Cookie" => cookies, "Proxy-Authorization" => (@route.proxy.authorization if @route.forwarded?) }.compact
        end
      end
    end
  end
end
