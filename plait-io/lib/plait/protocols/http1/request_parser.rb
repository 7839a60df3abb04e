# frozen_string_literal: true

require_relative "parser"
require_relative "request_role"

module Plait
  module Protocols
    module HTTP1
      # A server's side of a connection: parses requests.
      class RequestParser < Parser
        include RequestRole
      end
    end
  end
end
