# frozen_string_literal: true

require "objspace"
require "test_helper"
require_relative "command_parser_cases"
require_relative "reply_scanner_cases"

class RESPNativeCommandParserTest < Minitest::Test
  ENGINE = "native"
  include CommandParserCases

  def setup
    skip("there is no extension") unless RESPTranscript::COMMANDS.key?("native")
  end

  def test_its_rules_are_those_of_ruby
    assert_equal(RESP::NativeCommandParser.rules, RESP::Rules::ALL.transform_values(&:to_a))
  end

  def test_its_default_limits_are_those_of_ruby
    source = File.read(File.join(Support::ROOT, "plait-shard/ext/plait_shard/resp/resp_rules.c"))
    numbers = source.scan(/^    \.(\w+) = (.+),$/).to_h { |name, value| [name.to_sym, number(value)] }
    assert_equal(RESP::Limits::DEFAULTS, numbers)
  end

  def test_under_gc_stress
    GOOD.each_key.first(4).each do |bytes|
      GC.stress = true
      stressed = commands(bytes.scan(/.{1,7}/mn))
      GC.stress = false
      assert_equal(commands([bytes]), stressed)
    end
  ensure
    GC.stress = false
  end

  def test_one_that_was_never_initialized
    assert_raises(ArgumentError) { RESP::NativeCommandParser.allocate.next_event }
    assert_raises(Plait::LocalProtocolError) { engine.new.send(:initialize) }
  end

  private

  def number(text) = text.include?("<<") ? Integer(text[/^\d+/]) << Integer(text[/\d+$/]) : Integer(text)
end

class RESPNativeReplyScannerTest < Minitest::Test
  ENGINE = "native"
  include ReplyScannerCases

  def setup
    skip("there is no extension") unless RESPTranscript::REPLIES.key?("native")
  end

  def test_one_that_was_never_initialized
    assert_raises(ArgumentError) { Plait::Protocols::RESP::NativeReplyScanner.allocate.feed("x") }
  end
end
