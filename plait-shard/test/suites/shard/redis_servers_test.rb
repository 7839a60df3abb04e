# frozen_string_literal: true

require "test_helper"
require "support/redis_conversation"
require "support/redis_server"
require "plait/suites"
require "plait/suites/shard/redis_servers"

class RedisServersTest < Minitest::Test
  Servers = Plait::Suites::RedisServers

  def test_they_answer_and_end_with_the_block
    Support::RedisServer::PROGRAM.path!
    ports = before = nil
    Servers.open(2) do |addresses|
      ports = addresses.map { |address| Integer(address[/\A127\.0\.0\.1:(\d+)\z/, 1]) }
      before = listeners_at(*ports)
    end
    assert_equal([2, 2], [ports.uniq.size, before.size])
    assert_empty(before & listeners_at(*ports))
  end

  def test_they_know_commands
    Support::RedisServer::PROGRAM.path!
    Servers.open(1) do |addresses|
      Support::RedisConversation.open(addresses.first[/\d+\z/]) { |redis| assert_equal("+PONG\r\n", redis.call("PING")) }
    end
  end

  def test_without_the_program_it_is_said_how_to_get_it
    path = ENV.fetch("PATH")
    ENV["PATH"] = "/nowhere"
    error = assert_raises(Plait::UnsupportedError) { Servers.open(1) { flunk } }
    assert_match(/no redis-server was found: sudo apt-get install redis-server/, error.message)
  ensure
    ENV["PATH"] = path
  end
end
