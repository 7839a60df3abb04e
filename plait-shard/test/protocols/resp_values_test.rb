# frozen_string_literal: true

require "test_helper"
require "plait/protocols/resp"

class RESPValuesTest < Minitest::Test
  RESP = Plait.const_get(:Protocols)::RESP

  VALUES = {
    "+OK\r\n" => "OK", ":-3\r\n" => -3, ":0\r\n" => 0, ":9223372036854775807\r\n" => (2**63) - 1, "$-1\r\n" => nil,
    "$2\r\n\r\n\r\n" => "\r\n", "*-1\r\n" => nil, "_\r\n" => nil, "*0\r\n" => [], "%0\r\n" => {},
    "*2\r\n*1\r\n:1\r\n$0\r\n\r\n" => [[1], ""], "#t\r\n" => true, "#f\r\n" => false, ",1.5\r\n" => 1.5,
    ",inf\r\n" => Float::INFINITY, ",-inf\r\n" => -Float::INFINITY, "(12345678901234567890\r\n" => 12_345_678_901_234_567_890,
    "%1\r\n+a\r\n:1\r\n" => { "a" => 1 }, "=5\r\ntxt:x\r\n" => "txt:x", "|1\r\n+a\r\n+b\r\n*1\r\n:1\r\n" => [1],
    "-ERR no\r\n" => RESP::Failure.new("ERR no"), "!3\r\nE x\r\n" => RESP::Failure.new("E x"), ">1\r\n+a\r\n" => ["a"],
    "~1\r\n:2\r\n" => [2]
  }.freeze

  def test_values
    VALUES.each { |bytes, value| assert_equal([value], [RESP.decode(bytes)], bytes) }
    assert_predicate(RESP.decode(",nan\r\n"), :nan?)
    assert_equal(Encoding::BINARY, RESP.decode("+ä\r\n").encoding)
  end

  def test_what_is_cut_is_no_value
    VALUES.each_key do |bytes|
      cut = Array.new(bytes.bytesize) { |size| bytes.byteslice(0, size) }
      cut.each { |part| assert_raises(ArgumentError, part.inspect) { RESP.decode(part) } }
    end
    ["x1\r\n", "*9\r\n:1\r\n", "$9223372036854775807\r\na\r\n", ":1x\r\n", ":\r\n", "*x\r\n", "#{"*1\r\n" * 200}:1\r\n", ""]
      .each { |bytes| assert_raises(ArgumentError, bytes) { RESP.decode(bytes) } }
  end

  def test_mutated_replies
    all = VALUES.keys.join
    random = Random.new(1)
    20_000.times do
      bytes = all.byteslice(random.rand(all.bytesize)..).b
      3.times { bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) }
      RESP.decode(bytes)
    rescue ArgumentError, RangeError
      next
    end
  end

  def test_commands
    assert_equal("*3\r\n$3\r\nSET\r\n$2\r\n\xC3\xA4\r\n$2\r\n12\r\n".b, RESP.encode(["SET", "ä", 12]))
    assert_equal("*2\r\n$2\r\n\xFF\0\r\n$2\r\n\xC3\xA4\r\n".b, RESP.encode(["\xFF\0".b, :ä]))
    assert_equal("*0\r\n", RESP.encode([]))
    assert_raises(TypeError) { RESP.encode("SET") }
  end

  # An object may do anything in its to_s.
  def test_a_word_that_changes_the_command
    words = ["a", nil, "b"]
    words[1] = Class.new { define_method(:to_s) { words.clear && "x" } }.new
    assert_equal("*3\r\n$1\r\na\r\n$1\r\nx\r\n$1\r\nb\r\n", RESP.encode(words))
  end
end
