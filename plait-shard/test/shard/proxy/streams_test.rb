# frozen_string_literal: true

require_relative "nodes"

# Commands with a large argument go to their node while they arrive.
class ShardProxyStreamsTest < Minitest::Test
  include ShardNodes

  LARGE = 3_000_000

  def test_order_before_and_behind
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        values = Array.new(5) { |i| i.to_s * LARGE }
        commands = values.flat_map { |value| [%w[SET k small], ["STRLEN", "k"], ["SET", "k", value], ["STRLEN", "k"], %w[PING]] }
        replies = redis.pipeline(commands)
        assert_equal(["+OK\r\n", ":5\r\n", "+OK\r\n", ":#{LARGE}\r\n", "+PONG\r\n"] * 5, replies)
        assert_equal(values.last, redis.call("GET", "k").byteslice(10, LARGE))
      end
    end
  end

  def test_it_takes_little_memory
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        bytes = encode("SET", "k", "x" * (48 << 20))
        before = peak
        redis.write(bytes)
        assert_equal("+OK\r\n", redis.reply)
        assert_operator(peak - before, :<, 8 << 20)
        assert_equal(":#{48 << 20}\r\n", redis.call("STRLEN", "k"))
      end
    end
  end

  def test_a_sender_that_stops_keeps_nobody_waiting_and_writes_nothing
    in_growing_times(1, 10) do |seconds|
      with_proxy(timeout: seconds) do |proxy|
        key = key_on(proxy, 0)
        call(proxy.port, "SET", key, "before")
        slow = Support::RedisConversation.new(proxy.port, "127.0.0.1")
        slow.write(encode("SET", key, "y" * LARGE)[0, LARGE / 2])
        100.times { assert_equal("$6\r\nbefore\r\n", call(proxy.port, "GET", key)) }
        sleep(seconds * 1.3) # longer than a node may be silent
        assert_equal(0, proxy.figures[:node_failures])
        slow.close
        wait_until { proxy.figures[:clients].zero? }
        assert_equal("$6\r\nbefore\r\n", call(proxy.port, "GET", key))
      end
    end
  end

  def test_a_sender_that_goes_on_later
    in_growing_times(1, 10) do |seconds|
      with_proxy(timeout: seconds) do |proxy|
        converse(proxy.port) do |redis|
          bytes = encode("SET", "k", "z" * LARGE) + encode("STRLEN", "k")
          [0...2_000_000, 2_000_000...(LARGE + 20), (LARGE + 20)..].each do |range|
            redis.write(bytes[range])
            sleep(seconds * 0.6)
          end
          assert_equal(["+OK\r\n", ":#{LARGE}\r\n"], [redis.reply, redis.reply])
        end
      end
    end
  end

  def test_a_value_that_does_not_end_where_its_length_says
    with_proxy do |proxy|
      [["x", "\n"], ["\r", "x"]].each do |ends|
        converse(proxy.port) do |redis|
          redis.write("#{encode("SET", "k", "v" * LARGE)[0..-3]}#{ends.join}#{encode("SET", "k", "wrong")}")
          assert_equal("-ERR Protocol error: expected CRLF behind an argument\r\n", redis.reply)
          assert_nil(redis.reply)
        end
        assert_equal("$-1\r\n", call(proxy.port, "GET", "k"))
      end
    end
  end

  def test_a_node_that_is_not_there
    Plait::Shard::Proxy.open(nodes: ["127.0.0.1:#{CLOSED}"], listen: "127.0.0.1:0") do |proxy|
      converse(proxy.port) do |redis|
        redis.write(encode("SET", "k", "v" * LARGE) + encode("PING"))
        assert_match(/\A-ERR node .*nothing was done/, redis.reply)
        assert_equal("+PONG\r\n", redis.reply)
      end
    end
  end

  def test_a_node_that_dies_meanwhile
    server = Support::RedisServer.start
    with_proxy([server]) do |proxy|
      converse(proxy.port) do |redis|
        bytes = encode("SET", "k", "v" * LARGE)
        redis.write(bytes[0, LARGE / 2])
        wait_until { decode(call(server.port, "CLIENT", "LIST")).scan(/qbuf=(\d+)/).flatten.map(&:to_i).max > 100_000 }
        server.kill
        redis.write(bytes[(LARGE / 2)..] + encode("PING"))
        assert_match(/\A-ERR node .*unknown\r\n/, redis.reply)
        assert_equal("+PONG\r\n", redis.reply)
      end
    end
  ensure
    server&.stop
  end

  private

  def decode(reply) = Plait.const_get(:Protocols)::RESP.decode(reply)

  def peak
    File.write("/proc/self/clear_refs", "5") unless @cleared
    @cleared = true
    Integer(File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1]) * 1024
  end
end
