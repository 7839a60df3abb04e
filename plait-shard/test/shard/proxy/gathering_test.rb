# frozen_string_literal: true

require_relative "nodes"

# A large MSET is sent on while it arrives.
class ShardProxyGatheringTest < Minitest::Test
  include ShardNodes

  PAIRS = Array.new(3000) { |i| ["key#{i}", "#{i} " * (i % 200)] }.freeze

  def test_every_value_arrives
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        bytes = encode("MSET", *PAIRS.flatten)
        [bytes.bytesize, 100_000, 7919].each do |size|
          redis.call("FLUSHALL")
          0.step(bytes.bytesize, size) { |at| redis.write(bytes.byteslice(at, size)) }
          redis.write(encode("PING"))
          assert_equal(["+OK\r\n", "+PONG\r\n"], [redis.reply, redis.reply])
          assert_equal(PAIRS.map(&:last), decode(redis.call("MGET", *PAIRS.map(&:first))))
        end
      end
    end
  end

  def test_more_words_than_a_million
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        pair = encode("k", "v").delete_prefix("*2\r\n")
        redis.write("*1200001\r\n$4\r\nMSET\r\n#{pair * 600_000}")
        assert_equal("+OK\r\n", redis.reply)
      end
    end
  end

  def test_the_last_of_equal_keys_counts
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.call("MSET", *Array.new(2000) { |i| ["k", "#{i}#{"x" * 200}"] }.flatten)
        assert_equal("1999#{"x" * 200}", decode(redis.call("GET", "k")))
      end
    end
  end

  def test_it_takes_little_memory
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        bytes = encode("MSET", *Array.new(10_000) { |i| ["#{"k" * 500}#{i}", "v" * 4096] }.flatten)
        File.write("/proc/self/clear_refs", "5")
        before = peak
        redis.write(bytes)
        assert_equal(["+OK\r\n", ":10000\r\n"], [redis.reply, redis.call("DBSIZE")])
        assert_operator(peak - before, :<, 8 << 20)
      end
    end
  end

  def test_a_command_that_does_not_come_to_its_end
    with_proxy do |proxy|
      bytes = encode("MSET", *PAIRS.flatten)
      converse(proxy.port) do |redis|
        redis.write("#{bytes[0, 400_000]}!")
        redis.socket.close_write
        assert_match(/\A-ERR the command did not come to its end/, redis.reply)
      end
      converse(proxy.port) { |redis| redis.write(bytes[0, 400_000]) }
      wait_until { proxy.figures[:clients].zero? }
      assert_equal("+PONG\r\n", call(proxy.port, "PING"))
    end
  end

  def test_garbage_in_the_middle
    with_proxy do |proxy|
      bytes = encode("MSET", *PAIRS.flatten)
      converse(proxy.port) do |redis|
        redis.write("#{bytes[0, bytes.index("$7\r\nkey2900")]}:5\r\n")
        assert_match(/\A-ERR the command did not come to its end/, redis.reply)
        assert_match(/\A-ERR Protocol error/, redis.reply)
        assert_nil(redis.reply)
      end
    end
  end

  def test_a_node_that_is_not_there
    server = Support::RedisServer.start
    with_proxy([nodes.first, server]) do |proxy|
      server.kill
      converse(proxy.port) do |redis|
        redis.write(encode("MSET", *PAIRS.flatten) + encode("PING"))
        assert_match(/\A-ERR node 127.0.0.1:#{server.port} /, redis.reply)
        assert_equal("+PONG\r\n", redis.reply)
      end
    end
  ensure
    server&.stop
  end

  def test_an_odd_number_of_words_changes_nothing
    with_proxy do |proxy|
      assert_match(/\A-ERR wrong number of arguments for 'mset'/, call(proxy.port, "MSET", *PAIRS.flatten, "odd"))
      assert_equal(":0\r\n", call(proxy.port, "DBSIZE"))
    end
  end

  private

  def decode(reply) = Plait.const_get(:Protocols)::RESP.decode(reply)

  def peak = Integer(File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1]) * 1024
end
