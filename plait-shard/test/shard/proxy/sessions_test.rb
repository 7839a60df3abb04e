# frozen_string_literal: true

require_relative "nodes"

# Who a client is: passwords, users, versions of RESP, names.
class ShardProxySessionsTest < Minitest::Test
  include ShardNodes

  OK = "+OK\r\n"
  NOAUTH = "-NOAUTH Authentication required.\r\n"

  # Else one connection would keep all others from being served during a reshard.
  def test_a_client_without_the_password_does_not_hold_up_a_drain
    with_proxy(password: "secret") do |proxy|
      Socket.tcp("127.0.0.1", proxy.port) do |_|
        wait_until { proxy.figures[:clients] == 1 }
        assert(proxy.drain(within: 30), "the client was cut")
      end
    end
  end

  def test_a_password_of_the_shard
    with_proxy(password: "secret") do |proxy|
      converse(proxy.port) do |redis|
        [%w[GET k], %w[PING], %w[MULTI], %w[SUBSCRIBE c], %w[NONSENSE], %w[MSET a 1 b 2], %w[CLIENT ID]].each do |words|
          assert_equal(NOAUTH, redis.call(*words))
        end
        [%w[AUTH no], %w[AUTH secre], %w[AUTH secrets], %w[AUTH default x], %w[AUTH other secret], ["AUTH", ""]].each do |words|
          assert_match(/\A-WRONGPASS/, redis.call(*words))
        end
        assert_match(/\A-NOAUTH HELLO must/, redis.call("HELLO", "3"))
        assert_equal([NOAUTH, OK, OK, "$1\r\nv\r\n"], redis.pipeline([%w[GET k], %w[AUTH secret], %w[SET k v], %w[GET k]]))
        assert_equal(["+RESET\r\n", NOAUTH, OK], redis.pipeline([%w[RESET], %w[GET k], %w[AUTH default secret]]))
      end
    end
  end

  # Neither much memory nor a way past the password.
  def test_who_has_not_given_it_is_not_listened_to_for_long
    with_proxy(password: "secret") do |proxy|
      [encode("SET", "k", "v" * 100_000), encode("MSET", *Array.new(20_000, "x")), encode(*Array.new(11, "x"))].each do |bytes|
        converse(proxy.port) do |redis|
          redis.socket.write(bytes[0, 20_000])
          assert_match(/\A-ERR Protocol error/, redis.reply)
        end
      end
      assert_equal("$-1\r\n", converse(proxy.port) { |redis| redis.pipeline([%w[AUTH secret], %w[GET k]]) }.last)
    end
  end

  def test_nodes_with_passwords
    with_guarded_nodes do |servers, options|
      with_proxy_before(servers, **options) do |proxy|
        converse(proxy.port) do |redis|
          assert_equal([OK, "$1\r\n1\r\n", ":2\r\n"], redis.pipeline([%w[MSET a 1 b 2], %w[GET a], %w[DEL a b]]))
          assert_equal([OK, "+QUEUED\r\n", "*1\r\n+OK\r\n"], redis.pipeline([%w[MULTI], %w[SET a 1], %w[EXEC]]))
          assert_equal("*-1\r\n", redis.call("BLPOP", "l", "0.01"))
          assert_equal(OK, redis.call("SET", "large", "v" * 300_000))
          assert_match(/\*3\r\n/, redis.call("SUBSCRIBE", "c"))
        end
      end
      with_proxy_before(servers, **options, node_password: "wrong") do |proxy|
        assert_match(/\A-ERR node .* refuses the shard: -WRONGPASS .*; nothing was done/, call(proxy.port, "GET", "a"))
      end
      with_proxy_before(servers) { |proxy| assert_match(/\A-NOAUTH/, call(proxy.port, "GET", "a")) }
    end
  end

  def test_users_of_the_nodes
    with_guarded_nodes do |servers, _|
      with_proxy_before(servers, users: true) do |proxy|
        converse(proxy.port) do |redis|
          assert_match(/\A-NOAUTH/, redis.call("GET", "a"))
          assert_match(/\A-WRONGPASS/, redis.call("AUTH", "reader", "wrong"))
          assert_equal([OK, "$-1\r\n"], redis.pipeline([%w[AUTH reader of-books], %w[GET a]]))
          assert_match(/\A-NOPERM/, redis.call("SET", "a", "1"))
          assert_match(/\A-WRONGPASS/, redis.call("AUTH", "reader", "again"))
          assert_equal("$-1\r\n", redis.call("GET", "a"), "it is who it was")
          assert_match(/user=reader resp=2/, redis.call("CLIENT", "INFO"))
          assert_equal([OK, OK], redis.pipeline([["AUTH", "node-secret"], %w[SET a 1]]))
          assert_match(/\A%7/, redis.call("HELLO", "3", "AUTH", "reader", "of-books"))
          assert_match(/\A-NOPERM/, redis.call("SET", "a", "1"))
        end
        assert_match(/\A-NOAUTH/, call(proxy.port, "GET", "a"), "others are who they were")
      end
    end
  end

  def test_users_who_come_and_go
    with_guarded_nodes do |servers, _|
      with_proxy_before(servers, users: true) do |proxy|
        20.times { |i| converse(proxy.port) { |redis| assert_match(/\A-WRONGPASS/, redis.call("AUTH", "nobody#{i}", "x")) } }
        converse(proxy.port) { |redis| redis.write(encode("AUTH", "reader", "of-books") + encode("GET", "a")) }
        wait_until { proxy.figures[:clients].zero? }
        assert_equal([OK, "$-1\r\n"], converse(proxy.port) { |redis| redis.pipeline([%w[AUTH reader of-books], %w[GET a]]) })
        servers[0].kill
        assert_match(/\A-ERR node/, call(proxy.port, "AUTH", "reader", "of-books"))
      end
    end
  end

  def test_resp3
    commands = [%w[MSET a 1 b 2 c 3], %w[MGET a b none], %w[HSET h f v], %w[HGETALL h], %w[SMEMBERS none], %w[GET none],
                %w[ZADD z 1.5 m], %w[ZSCORE z m], %w[MULTI], %w[HGETALL h], %w[GET none], %w[EXEC], %w[BLPOP none 0.01],
                %w[SUBSCRIBE ch], %w[PING], %w[UNSUBSCRIBE], %w[GET a], ["SET", "large", "v" * 300_000], %w[STRLEN large],
                %w[RANDOMKEY x], %w[CLIENT GETNAME], %w[DEL a b c h z large], %w[RANDOMKEY], %w[KEYS *], %w[RESET],
                %w[GET none], %w[HGETALL h]]
    with_proxy do |proxy|
      call(plain.port, "FLUSHALL")
      ours, theirs = [proxy, plain].map do |server|
        converse(server.port) { |redis| [redis.call("HELLO", "3"), *redis.pipeline(commands)] }
      end
      assert_match(/\A%7\r\n\$6\r\nserver\r\n\$5\r\nredis\r\n/, ours.shift)
      theirs.shift
      commands.zip(theirs, ours) { |words, expected, reply| assert_equal(expected, reply, words.first(3).join(" ")[0, 50]) }
    end
  end

  def test_greetings
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        assert_match(/\A-NOPROTO/, redis.call("HELLO", "4"))
        assert_match(/\A-ERR Syntax error in HELLO option 'x'/, redis.call("HELLO", "3", "x"))
        assert_match(/\A-ERR Client names cannot/, redis.call("HELLO", "3", "SETNAME", "a b"))
        assert_match(/\A-ERR AUTH <password> called/, redis.call("HELLO", "3", "AUTH", "default", "x"))
        assert_match(/\A\*14.*:2\r\n/m, redis.call("HELLO"))
        assert_match(/\A%7.*:3\r\n/m, redis.call("HELLO", "3", "SETNAME", "me"))
        assert_equal("$2\r\nme\r\n", redis.call("CLIENT", "GETNAME"))
        assert_equal(["+RESET\r\n", "$-1\r\n"], redis.pipeline([%w[RESET], %w[CLIENT GETNAME]]))
      end
    end
  end

  def test_clients_by_name_and_number
    with_proxy do |proxy|
      converse(proxy.port) do |one|
        converse(proxy.port) do |other|
          ids = [one, other].map { |redis| redis.call("CLIENT", "ID")[1..].to_i }
          assert_equal(2, ids.uniq.size)
          assert_equal([OK, "$4\r\nname\r\n"], one.pipeline([%w[CLIENT SETNAME name], %w[CLIENT GETNAME]]))
          assert_equal([OK, OK], one.pipeline([%w[CLIENT NO-EVICT on], %w[MULTI]]))
          lines = other.call("CLIENT", "LIST").lines.map(&:strip).grep(/\Aid=/)
          assert_equal(ids.sort, lines.map { |line| line[/\Aid=(\d+) /, 1].to_i }.sort)
          assert_match(/addr=127.0.0.1:\d+ laddr=127.0.0.1:#{proxy.port} fd=\d+ name=name .* flags=x .* multi=0/, lines.join)
          assert_match(/\A\$\d+\r\nid=#{ids[1]} /, other.call("CLIENT", "INFO"))
        end
      end
    end
    with_proxy(threads: 2) { |proxy| assert_match(/\A-ERR CLIENT LIST is for a shard/, call(proxy.port, "CLIENT", "LIST")) }
  end

  # Sums are right, and what differs is not there.
  def test_info
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.call("MSET", *Array.new(100) { |i| ["k#{i}", "v"] }.flatten)
        10.times { |i| redis.call("EXPIRE", "k#{i}", "1000") }
        info = redis.call("INFO")
        assert_match(/\A\$#{info.bytesize - info[/\A.*?\r\n/].bytesize - 2}\r\n# Server\r\nredis_version:/, info)
        assert_match(/^db0:keys=100,expires=10,avg_ttl=\d+\r$/, info)
        refute_match(/^(tcp_port|run_id|process_id|used_memory_human|used_memory_lua_human|mem_fragmentation_ratio):/, info)
        assert_match(/^role:master\r$/, info)
        memory = redis.call("INFO", "memory")
        one = call(nodes[0].port, "INFO", "memory")[/^used_memory:(\d+)/, 1].to_i
        assert_operator(memory[/^used_memory:(\d+)/, 1].to_i, :>, 3 * one)
        assert_equal("$0\r\n\r\n", redis.call("INFO", "nonsense"))
      end
      answer = converse(proxy.port) { |redis| redis.pipeline([%w[HELLO 3], %w[INFO clients]]).last }
      assert_match(/\A=\d+\r\ntxt:# Clients/, answer)
    end
  end

  # EVALSHA may go to any node: a script exists where all have it.
  def test_scripts_of_all_nodes
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        redis.call("SCRIPT", "FLUSH")
        everywhere = redis.call("SCRIPT", "LOAD", "return 1")[/\h{40}/]
        somewhere = call(nodes[2].port, "SCRIPT", "LOAD", "return 2")[/\h{40}/]
        assert_equal("*3\r\n:1\r\n:0\r\n:0\r\n", redis.call("SCRIPT", "EXISTS", everywhere, somewhere, "0" * 40))
        assert_equal([":1\r\n"] * 9, Array.new(9) { |i| redis.call("EVALSHA", everywhere, "1", "k#{i}") })
      end
    end
  end

  # Who reaches the shard could else cut it off its nodes, by a password for them.
  def test_settings_are_not_for_everybody_to_change
    with_proxy do |proxy|
      assert_match(/\A-ERR this changes all nodes/, call(proxy.port, "CONFIG", "SET", "maxmemory", "1"))
      assert_match(/\$9\r\nmaxmemory\r\n\$1\r\n0/, call(proxy.port, "CONFIG", "GET", "maxmemory"))
    end
  end

  def test_settings_of_all_nodes
    with_proxy(config: true) do |proxy|
      converse(proxy.port) do |redis|
        assert_equal(OK, redis.call("CONFIG", "SET", "lfu-decay-time", "3"))
        assert_equal("*2\r\n$14\r\nlfu-decay-time\r\n$1\r\n3\r\n", redis.call("CONFIG", "GET", "lfu-decay-time"))
        assert_equal("*0\r\n", redis.call("CONFIG", "GET", "nonsense"))
        ports = nodes.map(&:port).join(", ")
        assert_includes(redis.call("CONFIG", "GET", "port"), "differs by node: #{ports}\r\n")
        redis.call("HELLO", "3")
        assert_equal("%1\r\n$14\r\nlfu-decay-time\r\n$1\r\n3\r\n", redis.call("CONFIG", "GET", "lfu-decay-time"))
        assert_match(/\A-ERR/, redis.call("CONFIG", "SET", "nonsense", "1"))
      end
    end
  end

  def test_wrong_options
    { password: 1, node_password: "", node_user: "x" * 600 }.each do |name, value|
      error = assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(nodes: %w[a:1], name => value) }
      assert_match(/#{name}: is a text of 1 to 511 bytes/, error.message)
    end
    assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(nodes: %w[a:1], node_user: "x") }
    assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(nodes: %w[a:1], users: 1) }
  end

  private

  # @yieldparam servers [Array<Support::RedisServer>]
  # @yieldparam options [Hash] by which a proxy gets in
  def with_guarded_nodes
    servers = Array.new(2) { Support::RedisServer.start }
    servers.each do |server|
      converse(server.port) do |redis|
        redis.pipeline([%w[ACL SETUSER reader on >of-books ~* &* +@read +@connection], %w[ACL SETUSER default >node-secret],
                        %w[CONFIG SET requirepass node-secret]])
      end
    end
    yield(servers, { node_user: "default", node_password: "node-secret" })
  ensure
    servers&.each(&:stop)
  end

  # Without the FLUSHALL of {with_proxy}.
  def with_proxy_before(servers, **options, &block)
    Plait::Shard::Proxy.open(nodes: addresses(servers), listen: "127.0.0.1:0", **options, &block)
  end
end
