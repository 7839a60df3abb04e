# frozen_string_literal: true

require_relative "nodes"
require_relative "../../protocols/resp_samples"

class ShardProxyGarbageTest < Minitest::Test
  include ShardNodes

  ROUNDS = 150

  def test_what_is_no_command_is_answered_once_and_ends_the_connection
    with_proxy do |proxy|
      bad = RESPSamples::BROKEN_COMMANDS.reject { |_, (rule, _)| rule == :truncated }
      bad.each_key do |bytes|
        converse(proxy.port) do |redis|
          redis.write(encode("SET", "k", "v") + bytes + encode("SET", "k", "wrong"))
          assert_equal("+OK\r\n", redis.reply)
          assert_match(/\A-ERR Protocol error: /, redis.reply, bytes[0, 50].inspect)
          assert_nil(redis.reply)
        end
      end
      assert_equal("$1\r\nv\r\n", call(proxy.port, "GET", "k"))
    end
  end

  def test_what_is_announced_takes_no_memory
    with_proxy do |proxy|
      ["*1000000000\r\n", "*2\r\n$3\r\nGET\r\n$4294967296\r\n"].each do |bytes|
        converse(proxy.port) do |redis|
          redis.write(bytes)
          assert_match(/\A-ERR Protocol error: /, redis.reply)
        end
      end
      sockets = Array.new(20) { TCPSocket.new("127.0.0.1", proxy.port) }
      before = resident
      sockets.each { |socket| socket.write("*1000000\r\n$3\r\nDEL\r\n$400000000\r\nabc") }
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
      assert_operator(resident - before, :<, 64 << 20)
      sockets.each(&:close)
    end
  end

  def test_random_bytes
    random = Random.new(Integer(ENV.fetch("PLAIT_SEED", "60")))
    with_proxy do |proxy|
      converse(proxy.port) do |witness|
        ROUNDS.times do |round|
          converse(proxy.port) { |redis| redis.write(garbage(random)) } if round.even?
          converse(proxy.port) { |redis| send_all(redis, garbage(random)) } if round.odd?
          assert_equal("$1\r\n#{round % 10}\r\n", witness.call("ECHO", (round % 10).to_s))
        end
      end
      wait_until { proxy.figures[:clients].zero? }
    end
  end

  private

  def garbage(random)
    samples = RESPSamples::COMMANDS.keys + RESPSamples::BROKEN_COMMANDS.keys
    Array.new(5) { random.rand(4).zero? ? random.bytes(random.rand(40)) : samples.sample(random: random) }.join
  end

  # Until the proxy hangs up, or has answered.
  def send_all(redis, bytes)
    redis.write(bytes)
    redis.socket.close_write
    nil while redis.reply
  rescue SystemCallError, Plait::TruncatedError
    nil
  end

  def resident = Integer(File.read("/proc/self/statm").split[1]) * 4096
end
