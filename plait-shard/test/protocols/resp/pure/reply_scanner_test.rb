# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "../reply_scanner_cases"

class RESPPureReplyScannerTest < Minitest::Test
  ENGINE = "pure"
  include ReplyScannerCases
end
