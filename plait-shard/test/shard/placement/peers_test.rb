# frozen_string_literal: true

require "test_helper"
require "support/nutcracker_server"
require "support/redis_conversation"
require "support/redis_server"
require "plait/shard"

# Where other proxies, and Redis itself, put keys.
class ShardPlacementPeersTest < Minitest::Test
  include Support

  Placement = Plait::Shard::Placement
  HASHES = Placement::HASHES - [:slot]
  KEYS = 40

  def test_twemproxy_with_each_of_its_hashes
    settings = HASHES.product(%i[modula ketama]).map { |hash, distribution| { hash: hash, distribution: distribution } }
    with_twemproxy(settings, [":1", ":3", ":2"]) do |servers, ports, specs|
      settings.zip(ports) do |setting, port|
        assert_found(servers, Placement.new(specs, rule: :twemproxy, **setting), port, keys(setting), setting)
      end
    end
  end

  def test_twemproxy_with_names_and_tags
    settings = [{ hash: :murmur, distribution: :ketama, hash_tag: '"{}"' },
                { hash: :crc32a, distribution: :modula, hash_tag: '"$$"' }]
    with_twemproxy(settings, [":1 zeta", ":1 al", ":1 beta"]) do |servers, ports, specs|
      settings.zip(ports) do |setting, port|
        placement = Placement.new(specs, rule: :twemproxy, **setting.slice(:hash, :distribution), tag: setting[:hash_tag][1, 2])
        assert_found(servers, placement, port, keys(setting), setting)
      end
    end
  end

  def test_slots_of_redis
    placement = Placement.new(%w[a:1 b:1], rule: :cluster)
    RedisServer.start(config: { "cluster-enabled" => "yes" }) do |server|
      RedisConversation.open(server.port) do |redis|
        keys(slot: 1).each { |key| assert_equal(":#{placement.hash_of(key)}\r\n", redis.call("CLUSTER", "KEYSLOT", key), key) }
      end
    end
  end

  private

  # Of any bytes and lengths; with 0x80 and more, with tags.
  def keys(setting)
    random = Random.new(setting.inspect.sum)
    Array.new(KEYS) do |number|
      tag = ["{#{random.rand(9)}}", "$#{random.rand(9)}$", "{}", "$$", "{"].sample(random: random)
      "#{number} #{setting.values.join}".b << random.bytes(random.rand(20)) << (random.rand(3).zero? ? tag : "")
    end
  end

  def with_twemproxy(settings, endings)
    NutcrackerServer::PROGRAM.path!
    servers = endings.map { RedisServer.start }
    specs = servers.zip(endings).map { |server, ending| "127.0.0.1:#{server.port}#{ending}" }
    NutcrackerServer.start(pools: settings.map { |setting| { servers: specs, **setting } }) do |proxy|
      yield(servers.to_h { |server| [server.port, server] }, proxy.ports, specs)
    end
  ensure
    servers&.each(&:stop)
  end

  def assert_found(servers, placement, port, keys, setting)
    RedisConversation.open(port) { |proxy| keys.each { |key| assert_equal("+OK\r\n", proxy.call("SET", key, "1")) } }
    keys.group_by { |key| placement.nodes[placement.node_for(key)].port }.each do |node, there|
      found = RedisConversation.open(servers.fetch(node).port) { |redis| redis.call("EXISTS", *there) }
      assert_equal(":#{there.size}\r\n", found, setting.inspect)
    end
  end
end
