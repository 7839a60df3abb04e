# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "../command_parser_cases"

class RESPPureCommandParserTest < Minitest::Test
  ENGINE = "pure"
  include CommandParserCases
end
