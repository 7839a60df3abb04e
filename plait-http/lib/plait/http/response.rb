# frozen_string_literal: true

require "plait/io/native"
require_relative "native_response"
require_relative "pure_response"

module Plait
  module HTTP
    # An answer: {ResponseMethods} has what it can do.
    Response = Native.available? ? NativeResponse : PureResponse
  end
end
