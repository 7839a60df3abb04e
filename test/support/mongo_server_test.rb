# frozen_string_literal: true

require "socket"
require "test_helper"
require "support/mongo_server"

# A client that speaks another protocol, or none, is hung up on; other clients notice nothing.
class MongoServerTest < Minitest::Test
  def setup
    skip("a real server has tests of its own") if Support::MongoServer.real?
    require "bson"
  rescue LoadError
    skip("the gem mongo is not installed: bin/setup test drivers")
  end

  PING = ->(flags = "\0\0\0\0\0".b) { flags + BSON::Document.new("ping" => 1, "$db" => "x").to_bson.to_s }

  def frame(body, length: body.bytesize + 16, code: 2013) = [length, 7, 0, code].pack("l<4") + body

  # @return [String] what the server says before it hangs up, or has answered once
  def say(bytes)
    TCPSocket.open("127.0.0.1", Support::MongoServer.shared.port) do |socket|
      socket.write(bytes)
      yield(socket) if block_given?
      assert(socket.wait_readable(30), "it says nothing")
      socket.readpartial(1_000)
    rescue EOFError, Errno::ECONNRESET
      ""
    end
  end

  def assert_serving = assert_includes(say(frame(PING.call)), "ok\0")

  def test_garbage
    { "a short header" => "abc", "zeros" => "\0" * 16, "HTTP" => "GET / HTTP/1.1\r\nHost: here\r\n\r\n",
      "an opcode" => frame(PING.call, code: 77), "a kind of section" => frame(PING.call("\0\0\0\0\5".b)),
      "a cut document" => frame(PING.call[0, 12]), "an old query" => frame("abcd", code: 2004) }.each do |what, bytes|
      assert_empty(say(bytes, &:close_write), what)
      assert_serving
    end
  end

  # Its bytes would be reserved before they come.
  def test_a_length_that_no_message_has
    [2_000_000_000, 48_000_001, 15, 0, -1].each do |length|
      assert_empty(say(frame(PING.call, length: length)), length.to_s)
    end
    assert_serving
  end
end
