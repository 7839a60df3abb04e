# frozen_string_literal: true

require "plait/io/native"
require_relative "response_building"
require_relative "response_methods"

module Plait
  module HTTP
    NativeHTTP.define_response(self) if Native.available?

    # The answer to a request, in C: rb_response.h. Its twin is PureResponse.
    class NativeResponse
      include ResponseMethods
      extend ResponseBuilding
    end
  end
end
