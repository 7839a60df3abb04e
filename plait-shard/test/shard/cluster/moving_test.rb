# frozen_string_literal: true

require_relative "../proxy/random_commands"
require_relative "clusters"

# Slots that move from node to node while clients read and write their keys: none of these learns of it, and nothing is lost.
class ShardClusterMovingTest < Minitest::Test
  include Clusters

  SECONDS = Integer(ENV.fetch("PLAIT_FAULT_SECONDS", "5"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "60"))
  # Further seconds that a slow machine may take until there was enough to be seen.
  PATIENCE = 120
  CLIENTS = 8
  TAGS = %w[{a} {b} {c} {d}].freeze

  # Counts up keys of its own, in pipelines, so that a write that came too late, twice or not at all shows. None of these names a
  # key twice: who does not wait for an answer may have two commands for a key on its way done in the other order.
  class Writer
    attr_reader :count, :wrong

    def initialize(port, name, random)
      @redis = Support::RedisConversation.new(port, "127.0.0.1")
      @keys = TAGS.map { |tag| "#{tag}#{name}" }
      @random = random
      @values = Hash.new(0)
      @count = 0
      @wrong = []
      @name = name
    end

    def round
      commands = RandomCommands.apart(Array.new(1 + @random.rand(8)) { command })
      expected = commands.map { |words| expect(words) }
      commands.zip(expected, @redis.pipeline(commands)) do |words, right, reply|
        @count += 1
        @wrong << [words, right, reply] unless reply == right
      end
    end

    def close = @redis.close

    # @return [Hash{String => Integer}] what has to be there
    def kept = @values

    private

    def command
      key = @keys.sample(random: @random)
      [["INCR", key], ["GET", key], ["MGET", *@keys], ["ECHO", "#{@name}#{@random.rand(100)}"],
       ["MSET", *@keys.flat_map { |name| [name, @random.rand(1000).to_s] }], ["INCRBY", key, "7"]].sample(random: @random)
    end

    def expect(words)
      case words[0]
      when "INCR" then ":#{@values[words[1]] += 1}\r\n"
      when "INCRBY" then ":#{@values[words[1]] += 7}\r\n"
      when "GET" then value(words[1])
      when "MGET" then "*#{@keys.size}\r\n#{@keys.map { |key| value(key) }.join}"
      when "MSET" then words.drop(1).each_slice(2) { |key, text| @values[key] = text.to_i } && "+OK\r\n"
      else bulk(words[1])
      end
    end

    def value(key) = @values.key?(key) ? bulk(@values[key].to_s) : "$-1\r\n"

    def bulk(text) = "$#{text.bytesize}\r\n#{text}\r\n"
  end

  def hard_timeout = SECONDS + PATIENCE + 60

  def test_nothing_is_lost_or_crossed_and_nobody_hears_of_it
    with_cluster_proxy(threads: 2) do |proxy|
      writers = Array.new(CLIENTS) { |i| Writer.new(proxy.port, "w#{i}", Random.new(SEED + i)) }
      moves = while_all_write(writers) do
        move_about { |count| count > 3 && writers.sum(&:count) > 500 && proxy.figures[:redirections] > count }
      end
      assert_empty(writers.flat_map(&:wrong).first(3), "after #{moves} moves, PLAIT_SEED=#{SEED}")
      assert_all_there(proxy, writers)
      assert_operator(moves, :>, 3)
      assert_operator(writers.sum(&:count), :>, 500)
      assert_operator(proxy.figures[:redirections], :>, moves)
      writers.each(&:close)
    end
  end

  def test_each_answer_of_a_node_while_a_slot_is_on_its_way
    with_cluster_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.call("SET", "{x}here", "1")
        slot, to = slot_and_target("x")
        cluster.move(slot, to) do
          assert_equal("$1\r\n1\r\n", redis.call("GET", "{x}here"))
          assert_equal("+OK\r\n", redis.call("SET", "{x}new", "2"))
          assert_equal(["+OK\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "*2\r\n:3\r\n$1\r\n3\r\n"],
                       redis.pipeline([%w[MULTI], %w[INCR {x}new], %w[GET {x}new], %w[EXEC]]))
          assert_match(/\A-TRYAGAIN/, redis.call("SUNION", "{x}here", "{x}new"))
        end
        assert_equal(["$1\r\n1\r\n", "$1\r\n3\r\n"], redis.pipeline([%w[GET {x}here], %w[GET {x}new]]))
      end
    end
  end

  # It is asked again until the last key has moved, for two seconds, which a busy machine exceeds.
  def test_keys_on_both_sides_wait_for_each_other
    in_growing_times(1, 2, 3) do
      with_cluster_proxy do |proxy|
        converse(proxy.port) do |redis|
          redis.pipeline([%w[SADD {y}1 a], %w[SADD {y}2 b]])
          slot, to = slot_and_target("y")
          from = cluster.owner(slot)
          cluster.move(slot, to) do
            cluster.call(from, "MIGRATE", "127.0.0.1", to.port.to_s, "{y}1", "0", "60000")
            redis.write(encode("SUNION", "{y}1", "{y}2"))
          end
          assert_match(/\A\*2\r\n\$1\r\n(a\r\n\$1\r\nb|b\r\n\$1\r\na)\r\n\z/, redis.reply)
        end
      end
    end
  end

  def test_who_waits_in_a_slot_that_moves_waits_on_where_it_has_gone
    with_cluster_proxy do |proxy|
      slot, to = slot_and_target("wait")
      from = cluster.owner(slot)
      converse(proxy.port) do |redis|
        redis.write(encode("BLPOP", "wait", "100"))
        await { cluster.call(from, "INFO", "clients").include?("blocked_clients:1") }
        cluster.move(slot, to)
        await { cluster.call(to, "INFO", "clients").include?("blocked_clients:1") }
        assert_equal(":1\r\n", call(proxy.port, "RPUSH", "wait", "v"))
        assert_equal(%w[wait v], decode(redis.reply))
      end
    end
  end

  def test_who_watches_keys_that_move_is_told
    with_cluster_proxy do |proxy|
      slot, to = slot_and_target("watched")
      converse(proxy.port) do |redis|
        assert_equal("+OK\r\n", redis.call("WATCH", "watched"))
        cluster.move(slot, to)
        replies = redis.pipeline([%w[MULTI], %w[SET watched 1], %w[EXEC]])
        assert_match(/\A-ERR the keys that are watched/, replies.last.to_s)
      end
      assert_equal("$-1\r\n", call(proxy.port, "GET", "watched"))
    end
  end

  # Of what was forwarded while it came nothing is left to be sent again.
  def test_a_large_value_is_refused_once_and_taken_then
    with_cluster_proxy do |proxy|
      slot, to = slot_and_target("large")
      cluster.move(slot, to)
      value = "v" * 500_000
      converse(proxy.port) do |redis|
        replies = Array.new(2) { redis.call("SET", "large", value) }
        assert_match(/\A(\+OK|-ERR node .* send it again; nothing was done)\r\n\z/, replies.first)
        assert_equal("+OK\r\n", replies.last)
        assert_equal(value, decode(redis.call("GET", "large")))
      end
    end
  end

  def test_a_channel_whose_slot_moves
    with_cluster_proxy do |proxy|
      slot, to = slot_and_target("ch")
      cluster.move(slot, to)
      converse(proxy.port) do |redis|
        await do
          redis.write(encode("SSUBSCRIBE", "ch"))
          reply = redis.reply
          refute_match(/MOVED/, reply)
          reply.start_with?("*3")
        end
      end
    end
  end

  def test_a_node_that_joins_and_one_that_leaves
    Support::RedisCluster.start(masters: 2) do |own|
      with_cluster_proxy(own) do |proxy|
        redis = Support::RedisConversation.new(proxy.port, "127.0.0.1")
        redis.call("SET", "{k}1", "1")
        slot = own.slot_of("k")
        from = own.owner(slot)
        added = own.grow
        own.move(slot, added) { assert_equal("+OK\r\n", redis.call("SET", "{k}2", "2")) }
        assert_equal("*2\r\n$1\r\n1\r\n$1\r\n2\r\n", redis.call("MGET", "{k}1", "{k}2"))
        await { proxy.placement.nodes.size == 3 }
        assert_equal(own.addresses(own.servers).sort, proxy.nodes.map { |node| node[:address] }.sort)
        assert_equal(":2\r\n", redis.call("DBSIZE"))
        own.move(slot, from)
        await { redis.call("GET", "{k}1") == "$1\r\n1\r\n" && proxy.placement.nodes.size == 2 }
        redis.close
      end
    end
  end

  private

  def slot_and_target(tag)
    slot = cluster.slot_of(tag)
    from = cluster.owner(slot)
    [slot, cluster.masters.find { |server| server != from }]
  end

  # @yieldparam moves [Integer]
  # @yieldreturn [Boolean] whether that is enough
  def move_about
    random = Random.new(SEED)
    moves = 0
    ends = now + SECONDS
    while now < ends || (now < ends + PATIENCE && !yield(moves))
      slot, to = slot_and_target(TAGS.sample(random: random)[1])
      cluster.move(slot, to) { sleep(random.rand * 0.05) }
      moves += 1
    end
    moves
  end

  def assert_all_there(proxy, writers)
    converse(proxy.port) do |redis|
      writers.each do |writer|
        writer.kept.each { |key, value| assert_equal(value.to_s, decode(redis.call("GET", key)), key) }
      end
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
