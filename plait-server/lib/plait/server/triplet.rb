# frozen_string_literal: true

require "plait/io/native"

module Plait
  class Server
    # What an app has returned, and what is wrong with it, in words. The core looks at the status itself, since that is asked each
    # time (rb_server_respond.c).
    module Triplet
      module_function

      # @param response [Object]
      # @return [Array(Integer, #each, Object)] with the status as a number
      # @raise [TypeError, ArgumentError] then the body is closed
      def of(response)
        status, headers, body = NativeServer.triplet(response)
        check(headers, body)
        [status, headers, body]
      rescue TypeError, ArgumentError
        body = response.to_ary[2] if response.respond_to?(:to_ary)
        body.close if body.respond_to?(:close)
        raise
      end

      # What lacks a method would else be named by that, and not by what it is.
      # @return [void]
      # @raise [TypeError]
      def check(headers, body)
        raise TypeError, "headers are a Hash of names and values, not #{headers.inspect}" unless headers.respond_to?(:each)
        return if body.respond_to?(:each) || body.respond_to?(:call) || body.respond_to?(:to_path)

        raise TypeError, "a body has each, or call, and #{body.class} has neither"
      end
    end
  end
end
