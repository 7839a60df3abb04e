# frozen_string_literal: true

require "plait/io/native"
require_relative "native_wire"
require_relative "pure_wire"

module Plait
  module HTTP
    # One HTTP/1.1 connection of a client: sends a request, receives the answer to it; of pools, redirects and retries it
    # knows nothing. Whatever ends an exchange early closes it, so that no answer ever reaches another request.
    Wire = Native.available? ? NativeWire : PureWire
  end
end
