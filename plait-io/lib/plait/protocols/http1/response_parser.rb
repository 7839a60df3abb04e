# frozen_string_literal: true

require_relative "parser"
require_relative "response_role"

module Plait
  module Protocols
    module HTTP1
      # A client's side of a connection: parses responses.
      class ResponseParser < Parser
        include ResponseRole
      end
    end
  end
end
