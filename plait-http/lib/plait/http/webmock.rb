# frozen_string_literal: true

require "webmock"
require_relative "../http"

module Plait
  module HTTP
    # Requests of Plait::HTTP as WebMock sees them: `require "plait/http/webmock"` in a test, and stubs, expectations and
    # `WebMock.disable_net_connect!` hold for them as for requests of other clients.
    class WebMock < ::WebMock::HttpLibAdapter
      adapter_for :plait

      class << self
        def enable! = Interception.current = method(:call)

        def disable! = Interception.current = nil

        # @param fields [Headers] all that go out with it
        # @yieldreturn [Response] of the server
        # @raise [::WebMock::NetConnectNotAllowedError]
        def call(request, fields, &send)
          signature = signature_of(request, fields)
          ::WebMock::RequestRegistry.instance.requested_signatures.put(signature)
          stub = ::WebMock::StubRegistry.instance.response_for_request(signature)
          return answer(signature, stub, request) if stub
          raise ::WebMock::NetConnectNotAllowedError, signature unless ::WebMock.net_connect_allowed?(signature.uri)

          send.call.tap { |response| tell(signature, as_stub(response), real_request: true) }
        end

        private

        def signature_of(request, fields)
          ::WebMock::RequestSignature.new(request.method.downcase.to_sym, request.url.to_s,
                                          headers: fields.to_h, body: body_of(request.body))
        end

        # A body that can be sent again is read for the comparison; of another one nothing would be left to send.
        def body_of(body)
          return body if body.nil? || body.is_a?(String)

          upload = Upload.wrap(body, chunked: false)
          return body unless upload.replayable?

          place = body.pos if body.respond_to?(:seek)
          upload.enum_for(:each).map(&:b).join.tap { body.seek(place) if place }
        end

        def answer(signature, stub, request)
          raise ReadTimeout.new("the stub for #{signature} times out", endpoint: request.url.origin) if stub.should_timeout

          stub.raise_error_if_any
          tell(signature, stub, real_request: false)
          Response.build(status: stub.status.first, reason: stub.status.last, headers: headers_of(stub), body: stub.body.b,
                         url: request.url.whole)
        end

        def headers_of(stub)
          (stub.headers || {}).flat_map { |name, values| Array(values).map { |value| [name.to_s, value.to_s] } }
        end

        def as_stub(response)
          ::WebMock::Response.new(status: [response.status, response.reason.to_s], headers: response.headers.to_h,
                                  body: response.body)
        end

        def tell(signature, response, real_request:)
          ::WebMock::CallbackRegistry.invoke_callbacks({ lib: :plait, real_request: real_request }, signature, response)
        end
      end

      enable!
    end
  end
end
