# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "../writer_cases"

class MessagePackRPCPureWriterTest < Minitest::Test
  ENGINE = WriterCases::MessagePackRPC::Pure::Writer
  include WriterCases
end
