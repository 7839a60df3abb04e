# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/protocols/resp"

class RESPDecoderTest < Minitest::Test
  Decoder = Plait.const_get(:Protocols)::RESP::Decoder

  def test_values
    {
      "+OK\r\n" => "OK", ":-3\r\n" => -3, "$-1\r\n" => nil, "$2\r\n\r\n\r\n" => "\r\n", "*-1\r\n" => nil, "_\r\n" => nil,
      "*2\r\n*1\r\n:1\r\n$0\r\n\r\n" => [[1], ""], "#t\r\n" => true, "#f\r\n" => false, ",1.5\r\n" => 1.5, ",inf\r\n" => Float::INFINITY,
      "(12345678901234567890\r\n" => 12_345_678_901_234_567_890,
      "%1\r\n+a\r\n:1\r\n" => { "a" => 1 }, "=5\r\ntxt:x\r\n" => "txt:x",
      "|1\r\n+a\r\n+b\r\n*1\r\n:1\r\n" => [1], "-ERR no\r\n" => Decoder::Failure.new("ERR no"),
      "!3\r\nE x\r\n" => Decoder::Failure.new("E x"), ">1\r\n+a\r\n" => ["a"], "~1\r\n:2\r\n" => [2]
    }.each { |bytes, value| value.nil? ? assert_nil(Decoder.decode(bytes)) : assert_equal(value, Decoder.decode(bytes), bytes) }
  end
end
