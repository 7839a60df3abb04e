# frozen_string_literal: true

require "active_support"
require "active_support/notifications"
require_relative "../http"

module Plait
  module HTTP
    # A hook that makes each call an event of ActiveSupport::Notifications. Needs Rails 7.1 or later.
    #
    # @example
    #   client = Plait::HTTP::Client.new(hooks: Plait::HTTP::ActiveSupportHook.new)
    #   ActiveSupport::Notifications.subscribe("request.plait_http") { |event| puts event.payload[:url], event.duration }
    class ActiveSupportHook
      # @param name [String] of the event
      def initialize(name = "request.plait_http")
        @name = name
      end

      # A handle of its own for each call: many calls of one thread may overlap.
      # @param call [Call]
      def before(call)
        payload = { call: call, method: call.method, url: call.url }
        handle = ::ActiveSupport::Notifications.instrumenter.build_handle(@name, payload)
        handle.start
        call[self] = [handle, payload]
      end

      # @param call [Call]
      def after(call) = finish(call, status: call.response.status, timings: call.timings)

      # @param call [Call]
      def error(call)
        error = call.error
        finish(call, error ? { exception: [error.class.name, error.message], exception_object: error } : {})
      end

      private

      def finish(call, more)
        handle, payload = call[self]
        payload.update(more)
        handle.finish
      end
    end
  end
end
