# frozen_string_literal: true

require "opentelemetry"
require_relative "../http"

module Plait
  module HTTP
    # A hook that makes each call a client span of OpenTelemetry, and sends its context to the server (traceparent).
    #
    # @example
    #   client = Plait::HTTP::Client.new(hooks: Plait::HTTP::OpenTelemetryHook.new)
    class OpenTelemetryHook
      # @param tracer [OpenTelemetry::Trace::Tracer]
      def initialize(tracer = ::OpenTelemetry.tracer_provider.tracer("plait-http", VERSION))
        @tracer = tracer
      end

      # @param call [Call]
      def before(call)
        call[self] = span = @tracer.start_span(call.method, kind: :client, attributes: attributes(call))
        ::OpenTelemetry.propagation.inject(call.headers, context: ::OpenTelemetry::Trace.context_with_span(span))
      end

      # @param call [Call]
      def after(call)
        status = call.response.status
        span = call[self]
        span.set_attribute("http.response.status_code", status)
        span.status = ::OpenTelemetry::Trace::Status.error if status >= 400
        span.finish
      end

      # @param call [Call]
      def error(call)
        span = call[self]
        span.record_exception(call.error) if call.error
        span.status = ::OpenTelemetry::Trace::Status.error(call.error&.class.to_s)
        span.finish
      end

      private

      def attributes(call)
        url = URL.parse(call.url)
        { "http.request.method" => call.method, "url.full" => Secrets.hide(call.url), "server.address" => url.host,
          "server.port" => url.port }
      end
    end
  end
end
