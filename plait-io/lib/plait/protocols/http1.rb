# frozen_string_literal: true

require_relative "http1/limits"
require_relative "http1/persistence"
require_relative "http1/request_parser"
require_relative "http1/response_parser"
require_relative "http1/serializer"

module Plait
  module Protocols
    # HTTP/1.1 (RFC 9112, 9110) for both roles. Where the extension is, the engine in http1.h parses, else
    # its twin in pure/: same interface, same events, same errors.
    #
    # @example A client
    #   parser = HTTP1::ResponseParser.new
    #   parser.start(method: "GET")
    #   until (event = parser.next_event) == :done
    #     case event
    #     when nil   then (bytes = read) ? parser.feed(bytes) : parser.finish
    #     when :head then head = parser.head
    #     when :data then body << parser.data
    #     end
    #   end
    module HTTP1
    end
  end
end
