# frozen_string_literal: true

require "plait/values/errors"

module Plait
  class Server
    module HTTP2
      # How a peer has broken HTTP/2, so that the connection is of no more use (RFC 9113 §5.4.1).
      class Violation < RemoteProtocolError
        # @return [Symbol] of {Frames::ERRORS}: what GOAWAY tells the peer
        attr_reader :code

        # @param code [Symbol]
        # @param what [String]
        # @param section [String] of RFC 9113
        def initialize(code, what, section)
          @code = code
          super("the peer broke HTTP/2: #{what}", rule: :http2, section: "RFC 9113 #{section}")
        end
      end
    end
  end
end
