# frozen_string_literal: true

require_relative "native_core"
require "plait/io/native"
require "plait/values/errors"

module Plait
  class Server
    # Whether there can be a server at all.
    module Support
      # @return [void]
      # @raise [UnsupportedError]
      def self.check
        return if Server.const_defined?(:NativeCore, false) && Plait.const_defined?(:NativeServer)

        raise UnsupportedError, "Plait::Server needs the C extension on Linux (#{Native::REASON || "this is another system"})"
      end
    end
  end
end
