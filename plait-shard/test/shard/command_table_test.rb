# frozen_string_literal: true

require "support/command_rows"
require_relative "proxy/nodes"

class ShardCommandTableTest < Minitest::Test
  include ShardNodes

  CommandTable = Plait::Shard.const_get(:CommandTable)
  COMMANDS = [
    %w[GET k], %w[SET k v EX 10], %w[MSET a 1 b 2 c 3], %w[MGET a b c], %w[DEL a b], %w[OBJECT ENCODING k], %w[BITOP AND d a b c],
    %w[EVAL s 2 a b c], %w[EVALSHA s 1 a b], %w[FCALL f 2 a b c], %w[ZUNION 2 a b WEIGHTS 1 2], %w[ZUNIONSTORE d 2 a b],
    %w[ZINTERCARD 2 a b LIMIT 1], %w[XREAD COUNT 1 STREAMS a b 0 0], %w[XREADGROUP GROUP g c STREAMS a b > >],
    %w[XGROUP CREATE s g 0],
    %w[XADD s * a b], %w[GEORADIUS k 1 2 3 km STORE d], %w[GEORADIUS k 1 2 3 km], %w[SINTERSTORE d a b], %w[RENAME a b],
    %w[LMPOP 2 a b LEFT], %w[LMOVE a b LEFT RIGHT], %w[COPY a b], %w[PFCOUNT a b], %w[MEMORY USAGE k],
    %w[BLPOP a b 0], %w[HSET h f v], %w[DUMP k], %w[RESTORE k 0 x],
    %w[SMISMEMBER s a b], %w[SORT a], %w[BITFIELD k GET u8 0], %w[xrange s - +], %w[GETEX k PERSIST]
  ].freeze

  def test_keys_are_where_redis_says
    converse(plain.port) do |redis|
      COMMANDS.each do |words|
        found = plane.keys_of(words).map { |place| words[place] }
        assert_equal(decode(redis.call("COMMAND", "GETKEYS", *words)), found, words.join(" "))
      end
    end
  end

  def test_numbers_of_keys_that_are_none
    [%w[EVAL s x a], %w[EVAL s 99 a], %w[EVAL s -1 a], %w[EVAL s 999999999999999999999 a], %w[ZUNION 2], %w[XREAD STREAMS],
     %w[XREAD], %w[GEORADIUS k], %w[MIGRATE KEYS]].each do |words|
      places = plane.keys_of(words)
      assert(places.all? { |place| place.positive? && place < words.size }, "#{words.join(" ")}: #{places}")
    end
    assert_nil(plane.keys_of(%w[NONSENSE a]))
    assert_nil(plane.keys_of(%w[object|encoding a]))
    assert_nil(plane.keys_of(["x" * 1000]))
    assert_nil(plane.keys_of([""]))
    assert_raises(TypeError) { plane.keys_of([1]) }
  end

  # A newer server has more: then `rake shard:commands` updates it.
  def test_the_table_has_what_the_server_has
    table = CommandTable.new(decode(call(plain.port, "COMMAND")))
    rows = File.readlines(File.join(Support::ROOT, "plait-shard/ext/plait_shard/shard_data/shard_commands.inc")).drop(1)
    assert_operator(rows.size, :>, 300)
    version = decode(call(plain.port, "INFO", "server"))[/redis_version:(\S+)/, 1]
    skip("the table is that of Redis 7.0, the server is #{version}") unless version.start_with?("7.0.")

    assert_empty(Support::CommandRows.of(table.entries) - rows)
  end

  def test_commands_of_newer_servers
    { %w[HEXPIRE h 10 FIELDS 1 f] => %w[h], %w[json.get k $] => %w[k], %w[JSON.MGET a b $] => %w[a b],
      %w[MSETEX 2 a 1 b 2] => %w[a b], %w[JSON.MSET a $ 1 b $ 2] => %w[a b], %w[TDIGEST.MERGE d 2 a b] => %w[d a b],
      %w[TS.CREATERULE a b x y 1] => %w[a b], %w[VSIM v ELE x] => %w[v] }.each do |words, keys|
      assert_equal(keys, plane.keys_of(words).map { |place| words[place] }, words.join(" "))
    end
  end

  def test_what_was_added_by_hand_is_not_in_the_table_made_from_a_server
    made, added = %w[shard_commands.inc shard_commands_newer.inc].map do |file|
      File.read(File.join(Support::ROOT, "plait-shard/ext/plait_shard/shard_data", file)).scan(/^{"([^"]+)"/).flatten
    end
    assert_empty(made & added)
  end

  # It is for the server to say that it does not know them.
  def test_a_server_that_is_too_old_for_them
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        assert_equal(["-ERR unknown command 'JSON.GET', with args beginning with: 'k' '$' \r\n", "+PONG\r\n"],
                     redis.pipeline([%w[JSON.GET k $], %w[PING]]))
      end
    end
  end

  def test_an_older_server
    error = assert_raises(Plait::UsageError) { CommandTable.new([["get", 2, [], 1, 1, 1]]) }
    assert_match(/as that of Redis 7 has/, error.message)
  end

  private

  def plane = Plait.const_get(:NativeShard)::Plane

  def decode(reply) = Plait.const_get(:Protocols)::RESP.decode(reply)
end
