# frozen_string_literal: true

require_relative "nodes"

# Scripts that run for long: which node it is, and how it is ended.
class ShardProxyScriptsTest < Minitest::Test
  include ShardNodes

  def setup
    super
    nodes.each { |node| call(node.port, "CONFIG", "SET", "busy-reply-threshold", "10") }
  end

  def teardown
    nodes.each { |node| call(node.port, "CONFIG", "SET", "busy-reply-threshold", "5000") }
    super
  end

  ENDLESS = { "SCRIPT" => ["EVAL", "while true do end", "1"], "FUNCTION" => %w[FCALL endless 1] }.freeze
  FUNCTION = "#!lua name=lib\nredis.register_function('endless', function() while true do end end)"

  # Of FUNCTION STATS: a function, or a script.
  RUNS = /duration_ms|\A-BUSY/
  # It ends by itself, after so many seconds or one more.
  WRITES = "redis.call('SET', KEYS[1], '') local from = redis.call('TIME')[1] " \
           "repeat local now = redis.call('TIME')[1] until now - from > tonumber(ARGV[1])"

  def test_a_script_is_found_and_ended_wherever_it_runs
    with_proxy do |proxy|
      call(proxy.port, "FUNCTION", "LOAD", "REPLACE", FUNCTION)
      ENDLESS.to_a.product([0, nodes.size - 1], [2, 3]) do |(kind, command), node, version|
        assert_match(/\A-NOTBUSY/, call(proxy.port, kind, "KILL"))
        refute_match(RUNS, stats(proxy, version))
        caller = Thread.new { call(proxy.port, *command, key_on(proxy, node)) }
        wait_until { stats(proxy, version).match?(RUNS) }
        assert_equal("+OK\r\n", call(proxy.port, kind, "KILL"))
        assert_match(/\A-ERR .*killed by user/, caller.value)
      end
    end
  end

  # The proxy has no free connection to the node, which does not answer the fence.
  def test_a_script_is_ended_by_a_new_connection
    with_proxy do |proxy|
      caller = Thread.new { call(proxy.port, *ENDLESS["SCRIPT"], key_on(proxy, 1)) }
      wait_until { call(nodes[1].port, "PING").start_with?("-BUSY") }
      assert_equal("+OK\r\n", call(proxy.port, "SCRIPT", "KILL"))
      assert_match(/\A-ERR .*killed by user/, caller.value)
      assert_match(/\A-NOTBUSY/, call(proxy.port, "SCRIPT", "KILL"))
      refute_empty(fenced_names(nodes[1]), "the next connection is fenced")
    end
  end

  def test_one_that_has_written_is_not_ended
    in_growing_times(1, 30) do |seconds|
      with_proxy(timeout: 120) do |proxy|
        caller = Thread.new { call(proxy.port, "EVAL", WRITES, "1", key_on(proxy, 1), seconds.to_s) }
        wait_until { stats(proxy, 2).match?(RUNS) }
        assert_match(/\A-UNKILLABLE/, call(proxy.port, "SCRIPT", "KILL"))
        assert_equal("$-1\r\n", caller.value)
      end
    end
  end

  private

  def fenced_names(node) = call(node.port, "CLIENT", "LIST").scan(/name=(plait-shard:\S+) .*cmd=script/)

  def stats(proxy, version)
    converse(proxy.port) { |redis| redis.pipeline([["HELLO", version], %w[FUNCTION STATS]]).last }
  end
end
