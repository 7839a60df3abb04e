# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "parser_cases"

class HTTP1PureParserTest < Minitest::Test
  ENGINE = "pure"
  include ParserCases
end
