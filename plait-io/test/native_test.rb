# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"

class NativeTest < Minitest::Test
  CODE = <<~'RUBY'
    require "plait/protocols/http1"
    parser = Plait::Protocols::HTTP1::ResponseParser.new
    parser.feed("HTTP/1.1 200 OK\r\n\r\n").next_event
    print Plait::Protocols::HTTP1::ResponseParser.superclass, " ", parser.head.status, " ", Plait::Native::REASON.inspect
  RUBY

  def test_without_the_extension_the_twin_parses
    result = Support::FreshRuby.run(CODE, env: { "PLAIT_PURE" => "1" }, flags: ["-w"])
    assert_equal(['Plait::Protocols::HTTP1::Pure::Parser 200 "PLAIT_PURE=1 switches it off"', ""], [result.out, result.err])
  end

  def test_with_it_the_engine_parses
    skip("there is no extension") unless Plait::Native.available?
    result = Support::FreshRuby.run(CODE, env: { "PLAIT_PURE" => nil }, flags: ["-w"])
    assert_equal(["Plait::Protocols::HTTP1::NativeParser 200 nil", ""], [result.out, result.err])
  end
end
