# frozen_string_literal: true

require_relative "nodes"

class ShardProxyTransactionsTest < Minitest::Test
  include ShardNodes

  OK = "+OK\r\n"
  QUEUED = "+QUEUED\r\n"
  NESTED = "-ERR MULTI calls can not be nested\r\n"
  ABORTED = "-EXECABORT Transaction discarded because of previous errors.\r\n"
  CROSS = /\A-CROSSSLOT/

  # The same as on one server, in one go and one by one.
  SAME = [
    [%w[MULTI], %w[SET k{a} 1], %w[INCR k{a}], %w[PING], %w[LPUSH l{a} x y], %w[EXEC], %w[GET k{a}]],
    [%w[MULTI], %w[EXEC], %w[EXEC]],
    [%w[MULTI], %w[PING x], %w[ECHO y], %w[EXEC]],
    [%w[MULTI], %w[SET k 1], %w[DISCARD], %w[GET k], %w[DISCARD]],
    [%w[MULTI], %w[MULTI], %w[SET k 1], %w[EXEC]],
    [%w[MULTI], %w[NONSENSE a], %w[SET k 2], %w[EXEC], %w[GET k]],
    [%w[MULTI], %w[SET k], %w[EXEC], %w[GET k]],
    [%w[MULTI], %w[SET k v], %w[INCR k], %w[GET k], %w[EXEC]],
    [%w[MULTI], %w[MSET a{t} 1 b{t} 2], %w[MGET a{t} b{t} c{t}], %w[DEL a{t} b{t}], %w[BLPOP c{t} 0], %w[EXEC]],
    [%w[MULTI], %w[WATCH k], %w[SET k 3], %w[EXEC]],
    [%w[WATCH k], %w[UNWATCH], %w[UNWATCH], %w[MULTI], %w[SET k 4], %w[EXEC]],
    [%w[WATCH k], %w[GET k], %w[MULTI], %w[SET k 5], %w[EXEC], %w[GET k]],
    [%w[WATCH k], %w[SET k 6], %w[MULTI], %w[SET k 7], %w[EXEC], %w[GET k]],
    [%w[WATCH k], %w[DEL k], %w[SET other 1], %w[MULTI], %w[SET k 8], %w[EXEC], %w[GET k]],
    [%w[WATCH k], %w[MULTI], %w[DISCARD], %w[SET k 9], %w[MULTI], %w[GET k], %w[EXEC]],
    [%w[WATCH k], %w[MULTI], %w[NONSENSE], %w[EXEC], %w[MULTI], %w[GET k], %w[EXEC]],
    [%w[WATCH k], %w[MULTI], %w[EXEC], %w[SET k 1], %w[MULTI], %w[EXEC]],
    [%w[WATCH k j{k} k], %w[GET k], %w[MULTI], %w[GET j{k}], %w[EXEC]],
    [%w[WATCH]]
  ].freeze

  def test_as_on_one_server
    with_proxy(placement: :cluster) do |proxy|
      SAME.each do |commands|
        [proxy.port, plain.port].each { |port| call(port, "FLUSHALL") }
        at_once, expected = [proxy, plain].map { |server| converse(server.port) { |redis| redis.pipeline(commands) } }
        assert_equal(expected, at_once, commands.inspect)
        [proxy.port, plain.port].each { |port| call(port, "FLUSHALL") }
        singly, expected = [proxy, plain].map do |server|
          converse(server.port) { |redis| commands.map { |words| redis.call(*words) } }
        end
        assert_equal(expected, singly, commands.inspect)
      end
    end
  end

  def test_what_is_on_other_nodes_is_refused
    with_proxy do |proxy|
      a, b = Array.new(2) { |node| key_on(proxy, node) }
      converse(proxy.port) do |redis|
        assert_replies(redis, [%W[WATCH #{a} #{b}], CROSS], [%W[WATCH #{a}], OK], [%W[WATCH #{b}], CROSS],
                       [%w[MULTI], OK], [%W[SET #{b} 1], CROSS], [%w[EXEC], ABORTED])
        assert_replies(redis, [%w[MULTI], OK], [%W[SET #{a} 1], QUEUED], [%W[MGET #{a} #{b}], CROSS], [%W[SET #{b} 1], CROSS],
                       [%w[EXEC], ABORTED], [%W[EXISTS #{a} #{b}], ":0\r\n"])
      end
    end
  end

  def test_what_no_transaction_can_have
    with_proxy do |proxy|
      [%w[SELECT 1], %w[AUTH x], %w[SUBSCRIBE c], %w[KEYS *], %w[FLUSHALL], %w[CLIENT SETNAME x], %w[SCAN 0], %w[EVAL x 0],
       %w[SORT k BY w*], %w[CONFIG SET maxmemory 0]].each do |words|
        converse(proxy.port) do |redis|
          assert_replies(redis, [%w[MULTI], OK], [words, /\A-ERR/], [%w[EXEC], ABORTED], [%w[PING], "+PONG\r\n"])
        end
      end
    end
  end

  def test_somebody_else_changes_what_is_watched
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        assert_replies(redis, [%w[WATCH k], OK], [%w[GET k], "$-1\r\n"], [%w[SET elsewhere 1], OK], [%w[MULTI], OK],
                       [%w[SET k mine], QUEUED])
        call(proxy.port, "SET", "k", "theirs")
        assert_replies(redis, [%w[EXEC], "*-1\r\n"], [%w[GET k], "$6\r\ntheirs\r\n"])
      end
    end
  end

  # Optimistic counting: none is lost, and none counted twice.
  def test_many_watch_and_count
    with_proxy(threads: 2) do |proxy|
      Array.new(8) { Thread.new { converse(proxy.port) { |redis| 25.times { count(redis) } } } }.each(&:value)
      assert_equal("$3\r\n200\r\n", call(proxy.port, "GET", "n"))
    end
  end

  # On the connection that all share nothing comes between.
  def test_transactions_of_many_are_whole
    with_proxy do |proxy|
      Array.new(6) do |i|
        Thread.new do
          converse(proxy.port) do |redis|
            50.times do
              replies = redis.pipeline([%w[MULTI], %W[SET k #{i}], %w[GET k], %w[EXEC], %w[GET other]])
              assert_equal([OK, QUEUED, QUEUED, "*2\r\n+OK\r\n$1\r\n#{i}\r\n", "$-1\r\n"], replies)
            end
          end
        end
      end.each(&:value)
    end
  end

  def test_large_ones
    with_proxy(client_bytes: 3 << 20) do |proxy|
      converse(proxy.port) do |redis|
        value = "v" * 500_000
        replies = redis.pipeline([%w[MULTI], ["SET", "k", value], %w[SET k x], ["APPEND", "k", value], %w[EXEC], %w[STRLEN k]])
        assert_equal([OK, QUEUED, QUEUED, QUEUED, "*3\r\n+OK\r\n+OK\r\n:500001\r\n", ":500001\r\n"], replies)
        replies = redis.pipeline([%w[MULTI], *([["SET", "k", value]] * 8), %w[EXEC], %w[STRLEN k]])
        assert_equal([OK, *([QUEUED] * 6), ABORTED, ":500001\r\n"], replies.values_at(*0..6, -2, -1))
        assert_match(/client_bytes/, replies[7])
        replies = redis.pipeline([%w[WATCH k], ["SET", "k", value], %w[STRLEN k]])
        assert_equal([OK, OK, ":500000\r\n"], replies)
      end
    end
  end

  def test_the_node_dies
    servers = Array.new(2) { Support::RedisServer.start }
    with_proxy(servers) do |proxy|
      key = key_on(proxy, 1)
      converse(proxy.port) do |begun|
        converse(proxy.port) do |watching|
          assert_replies(begun, [%w[MULTI], OK], [%W[SET #{key} 1], QUEUED])
          assert_replies(watching, [%W[WATCH #{key}], OK])
          servers[1].kill
          assert_nil(watching.reply, "what was watched is lost")
          assert_replies(begun, [%w[EXEC], /\A-ERR node/], [%w[PING], "+PONG\r\n"], [%W[WATCH #{key}], /\A-ERR node/],
                         [%w[PING], "+PONG\r\n"], [%W[WATCH #{key_on(proxy, 0)}], OK])
        end
      end
    end
  ensure
    servers&.each(&:stop)
  end

  def test_clients_that_go_away_leave_nothing_behind
    with_proxy do |proxy|
      converse(proxy.port) { |redis| redis.pipeline([%w[WATCH k], %w[MULTI], %w[SET k left]]) }
      converse(proxy.port) { |redis| redis.write(encode("MULTI") + encode("SET", "k", "x") + encode("EXEC")[0..5]) }
      wait_until { proxy.figures[:clients].zero? }
      assert_equal("$-1\r\n", call(proxy.port, "GET", "k"))
    end
  end

  private

  def assert_replies(redis, *pairs)
    pairs.each do |words, expected|
      reply = redis.call(*words)
      expected.is_a?(Regexp) ? assert_match(expected, reply, words.join(" ")) : assert_equal(expected, reply, words.join(" "))
    end
  end

  def count(redis)
    loop do
      redis.call("WATCH", "n")
      number = redis.call("GET", "n")[/\r\n(\d+)/, 1].to_i
      break unless redis.pipeline([%w[MULTI], ["SET", "n", (number + 1).to_s], %w[EXEC]]).last == "*-1\r\n"
    end
  end
end
