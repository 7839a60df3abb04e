# frozen_string_literal: true

require_relative "clusters"

# A master of a cluster that dies: its keys are refused until its replica has taken over, those of others never.
class ShardClusterFailoverTest < Minitest::Test
  include Clusters

  REFUSAL = /\A-(ERR node |CLUSTERDOWN)/

  # Writes a key again and again; what was acknowledged last, or might have been done since, has to be there.
  class Writer
    attr_reader :refused, :wrong, :right

    def initialize(port, key)
      @redis = Support::RedisConversation.new(port, "127.0.0.1")
      @key = key
      @serial = @right = @refused = 0
      @wrong = []
      @kept = 0
    end

    def round
      set = @redis.call("SET", @key, (@serial += 1).to_s)
      if set == "+OK\r\n" then @right += 1
      elsif set.match?(REFUSAL) then @refused += 1
      else @wrong << set
      end
      @kept = @serial if set == "+OK\r\n"
      check(@redis.call("GET", @key))
      true
    end

    def close = @redis.close

    private

    def check(reply)
      return @refused += 1 if reply.match?(REFUSAL)

      value = Plait.const_get(:Protocols)::RESP.decode(reply).to_i
      @wrong << [@key, @kept, reply] unless (@kept..@serial).cover?(value)
    end
  end

  def test_a_master_is_killed_and_its_replica_takes_over
    Support::RedisCluster.start(masters: 3, replicas: 1) do |own|
      with_cluster_proxy(own, retry: 0.1) do |proxy|
        writers = own.masters.map { |server| Writer.new(proxy.port, key_of(own, server)) }
        concerned = writers.first
        while_all_write(writers.drop(1)) do
          20.times { concerned.round }
          Support::RedisConversation.open(own.masters.first.port) { |redis| redis.pipeline([%w[PING], %w[WAIT 1 30000]]) }
          own.masters.first.kill
          await { concerned.round && concerned.refused.positive? }
          own.call(own.servers[3], "CLUSTER", "FAILOVER", "TAKEOVER")
          await { concerned.round && concerned.right > 20 }
        end
        assert_empty(writers.flat_map(&:wrong))
        assert_equal([0, 0], writers.drop(1).map(&:refused))
        assert_no_more_refused(concerned)
        assert_equal(":3\r\n", call(proxy.port, "DBSIZE"))
        writers.each(&:close)
      end
    end
  end

  # CLUSTER FAILOVER: master and replica agree, and no write is refused. On a slow machine a vote may be refused, since an epoch
  # has not got around yet; Redis elects again four node timeouts later only. Then another cluster tries.
  def test_a_master_hands_over
    tries = Array.new(3).lazy.map { Support::RedisCluster.start(masters: 3, replicas: 1) { |own| hands_over?(own) } }
    assert_predicate(tries, :any?, "Redis has given up three times")
  end

  def test_replicas_are_read_from_and_a_lost_one_is_not_missed
    Support::RedisCluster.start(masters: 3, replicas: 1) do |own|
      with_cluster_proxy(own, reads: :replicas, retry: 0.1) do |proxy|
        keys = own.masters.map { |server| key_of(own, server) }
        keys.each { |key| call(proxy.port, "SET", key, "v") }
        await { own.servers.drop(3).all? { |server| own.call(server, "DBSIZE") == 1 } }
        before = own.servers.map { |server| reads(own, server) }
        converse(proxy.port) do |redis|
          100.times { keys.each { |key| assert_equal("$1\r\nv\r\n", redis.call("GET", key)) } }
          assert_equal(["v"] * 3, decode(redis.call("MGET", *keys)))
          counts = own.servers.map { |server| reads(own, server) }.zip(before).map { |now, then_| now - then_ }
          assert_equal([0, 0, 0], counts.first(3))
          assert_operator(counts.last(3).min, :>=, 100)

          own.servers[3].kill
          100.times { keys.each { |key| assert_equal("$1\r\nv\r\n", redis.call("GET", key)) } }
          assert_equal("+OK\r\n", redis.call("SET", keys.first, "w"))
        end
      end
    end
  end

  private

  # @return [Boolean] whether Redis hands the first master's keys over to its replica; what is written is right in any case
  def hands_over?(own)
    with_cluster_proxy(own) do |proxy|
      writer = Writer.new(proxy.port, key_of(own, own.masters.first))
      20.times { writer.round }
      own.call(own.servers[3], "CLUSTER", "FAILOVER")
      handed_over = soon? { writer.round && own.call(own.servers[3], "ROLE").first == "master" }
      200.times { writer.round }
      assert_empty(writer.wrong)
      assert_equal(0, writer.refused)
      await { proxy.placement.nodes.map(&:port).include?(own.servers[3].port) } if handed_over
      writer.close
      handed_over
    end
  end

  def soon?(&over)
    wait_until(timeout: 20, &over)
  rescue Minitest::Assertion
    false
  end

  def assert_no_more_refused(writer)
    before = writer.refused
    50.times { writer.round }
    assert_equal(before, writer.refused)
  end

  def key_of(own, server)
    (0..).lazy.map { |i| "key#{i}" }.find { |key| own.owner(own.slot_of(key)) == server }
  end

  def reads(own, server) = own.call(server, "INFO", "commandstats")[/cmdstat_get:calls=(\d+)/, 1].to_i
end
