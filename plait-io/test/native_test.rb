# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"

class NativeTest < Minitest::Test
  CODE = <<~'RUBY'
    require "plait/protocols/http1"
    parser = Plait.const_get(:Protocols)::HTTP1::ResponseParser.new
    parser.feed("HTTP/1.1 200 OK\r\n\r\n").next_event
    print parser.class.superclass, " ", parser.head.status, " ", Plait.const_get(:Native)::REASON.inspect
  RUBY

  def test_without_the_extension_the_twin_parses
    result = Support::FreshRuby.run(CODE, env: { "PLAIT_PURE" => "1" }, flags: ["-w"])
    assert_equal(['Plait::Protocols::HTTP1::Pure::Parser 200 "PLAIT_PURE=1 switches it off"', ""], [result.out, result.err])
  end

  def test_with_it_the_engine_parses
    skip("there is no extension") unless Plait.const_get(:Native).available?
    result = Support::FreshRuby.run(CODE, env: { "PLAIT_PURE" => nil }, flags: ["-w"])
    assert_equal(["Plait::Protocols::HTTP1::NativeParser 200 nil", ""], [result.out, result.err])
  end

  def test_a_room_that_was_public_is_there_with_a_warning
    code = 'require "plait/io"; puts Plait::Io::Stream, Plait.constants.grep(/Io|Protocols|Native/).inspect'
    result = Support::FreshRuby.run(code, flags: ["-w"])
    assert_equal("Plait::Io::Stream\n[]\n", result.out)
    assert_match(/\A-e:1: warning: Plait::Io is private: see guides.upgrading.md\n\z/, result.err)
  end
end
