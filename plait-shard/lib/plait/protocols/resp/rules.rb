# frozen_string_literal: true

require "plait/protocols/rulebook"

module Plait
  module Protocols
    module RESP
      # The rules that a peer can break, and the errors that say so. The engine's table is RESP_RULES in resp.h; a test
      # compares them.
      module Rules
        # What is wrong, what Redis says of it (nil: it is for replies), and the limit that allows more.
        Rule = Struct.new(:text, :reply, :limit) do
          def section = "RESP, protocol specification"
        end

        ALL = {
          count: ["a number of arguments that is none", "invalid multibulk length"],
          arguments_limit: ["more arguments than the limit", "invalid multibulk length", :arguments],
          dollar: ["an argument that does not begin with $", "expected '$' before an argument"],
          bulk_length: ["a length of a string that is none", "invalid bulk length"],
          bulk_limit: ["a string over the limit", "invalid bulk length", :bulk],
          bulk_end: ["a string that does not end where its length says", "expected CRLF behind an argument"],
          command_limit: ["a command over the limit", "too big a request", :command],
          line_limit: ["an inline command over the limit", "too big inline request", :line],
          quotes: ["an inline command with a quote that does not end", "unbalanced quotes in request"],
          type: ["a reply of a type that does not exist"],
          line_end: ["a CR without a LF"],
          length: ["a length of an aggregate that is none"],
          elements_limit: ["a reply with more elements in all than the limit", nil, :elements],
          truncated: ["the input ended inside a command or a reply"]
        }.transform_values { |fields| Rule.new(*fields).freeze }.freeze

        PROTOCOL = "RESP"

        extend Rulebook
      end
    end
  end
end
