# frozen_string_literal: true

require "json"
require "net/http"
require "open3"
require_relative "proxy/nodes"

# What those who run a proxy do with it: look at it, change it, end it.
class ShardOperationsTest < Minitest::Test
  include ShardNodes

  def test_metrics
    with_proxy(metrics: "127.0.0.1:0", threads: 2) do |proxy|
      converse(proxy.port) { |redis| redis.pipeline([%w[SET k v], %w[GET k], %w[GET k], %w[PING], %w[NO]]) }
      text = get(proxy, "/metrics")
      assert_match(/^plait_shard_commands_total 5$/, text)
      assert_match(/^plait_shard_errors_total 1$/, text)
      assert_match(/^plait_shard_command_received_total{command="get"} 2$/, text)
      assert_match(/^plait_shard_command_received_total{command="ping"} 1$/, text)
      assert_match(/^plait_shard_command_duration_seconds_bucket{command="get",le="\+Inf"} 2$/, text)
      assert_match(/^plait_shard_command_duration_seconds_count{command="get"} 2$/, text)
      assert_equal(3, text.scan(/^plait_shard_node_requests_total{node="127.0.0.1:\d+"} (\d+)$/).flatten.sum(&:to_i))
      assert_equal(4, text.scan(/^plait_shard_node_up{node="127.0.0.1:\d+"} 1$/).size)
      text.each_line { |line| assert_match(/\A(# (HELP|TYPE) \w+ .+|\w+({[^}]+})? [0-9.e+-]+)\n\z/, line) }
    end
  end

  def test_hot_keys
    with_proxy(metrics: "127.0.0.1:0", threads: 2, hot: 2) do |proxy|
      converse(proxy.port) do |redis|
        wait_until do
          redis.pipeline(Array.new(3000) { |i| i.even? ? ["GET", "hot"] : ["MGET", "é\xFF#{"k" * 200}", "k#{i}"] })
          proxy.hot_keys.size == 2
        end
      end
      hottest = proxy.hot_keys
      assert_equal(%W[hot é\\xFF#{"k" * 93}…], hottest.map { |hot| hot[:key] }.sort.reverse.sort_by(&:size))
      assert_operator(hottest[0][:per_second], :>=, hottest[1][:per_second])
      assert_match(/^plait_shard_hot_key_commands_per_second{rank="2"} \d/, get(proxy, "/metrics"))
      assert_equal(2, JSON.parse(get(proxy, "/status"))["hot_keys"].size)
      wait_until { proxy.hot_keys.empty? } # nobody asks any longer
    end
  end

  def test_others_at_the_endpoint
    with_proxy(metrics: "127.0.0.1:0") do |proxy|
      assert_equal("404", http(proxy) { |http| http.get("/") }.code)
      assert_equal("405", http(proxy) { |http| http.post("/metrics", "") }.code)
      TCPSocket.open("127.0.0.1", proxy.metrics_port, &:close)
      TCPSocket.open("127.0.0.1", proxy.metrics_port) do |garbage|
        garbage.write("\0\r\n\r\n")
        assert_match(/\AHTTP.1.1 40\d/, garbage.read)
      end
      assert_match(/clients 0/, get(proxy, "/metrics"))
    end
  end

  # One after another, each of these would be waited for.
  def test_slow_clients_of_the_endpoint_keep_nobody_waiting
    with_proxy(metrics: "127.0.0.1:0") do |proxy|
      slow = Array.new(Plait::Shard.const_get(:MetricsEndpoint)::MOST - 1) { TCPSocket.new("127.0.0.1", proxy.metrics_port) }
      slow.each { |socket| socket.write("GET /metr") }
      assert_match(/clients 0/, get(proxy, "/metrics"))
      assert_equal([""], slow.map(&:read).uniq)
    ensure
      slow&.each(&:close)
    end
  end

  # Clients that are more than there is room for come in when others have gone.
  def test_more_clients_of_the_endpoint_than_there_is_room_for
    with_proxy(metrics: "127.0.0.1:0") do |proxy|
      texts = Array.new(Plait::Shard.const_get(:MetricsEndpoint)::MOST * 2) { Thread.new { get(proxy, "/metrics") } }.map(&:value)
      assert(texts.all? { |text| text.include?("plait_shard_clients 0") })
    end
  end

  def test_the_endpoint_rests_while_there_are_no_descriptors
    script = <<~RUBY
      require "plait/shard"
      Process.setrlimit(:NOFILE, 100)
      Plait::Shard::Proxy.open(nodes: ["127.0.0.1:1"], listen: "127.0.0.1:0", metrics: "127.0.0.1:0") do |proxy|
        begin
          files = []
          loop { files << File.open(File::NULL) }
        rescue Errno::EMFILE
          files.pop.close
        end
        waiting = TCPSocket.new("127.0.0.1", proxy.metrics_port)
        before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
        sleep(2)
        puts Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
        files.each(&:close)
        waiting.write("GET /nothing HTTP/1.1\\r\\n\\r\\n")
        puts waiting.gets
      end
    RUBY
    out, status = Open3.capture2e(RbConfig.ruby, "-W0", *Support::FLAGS, "-e", script)
    assert_predicate(status, :success?, out)
    used, answer = out.lines
    assert_operator(Float(used), :<, 0.5)
    assert_match(/404/, answer)
  end

  def test_a_node_that_is_down
    servers = Array.new(2) { Support::RedisServer.start }
    with_proxy(servers, metrics: "127.0.0.1:0") do |proxy|
      servers[1].kill
      call(proxy.port, "GET", key_on(proxy, 1))
      status = JSON.parse(get(proxy, "/status"))
      assert_equal([true, false], status["nodes"].map { |node| node["up"] })
      assert_operator(status["nodes"][1]["failures"], :>=, 1)
    end
  ensure
    servers&.each(&:stop)
  end

  def test_slow_commands_are_remembered
    with_proxy(slow: 0.2) do |proxy|
      converse(proxy.port) do |redis|
        redis.pipeline([%w[GET k], %w[BLPOP l 0.3], ["EVAL", busy(0.3), "1", "k"]])
        commands = proxy.slow.map { |one| one[:command] }
        assert_includes(commands, "eval") # a GET may be slow, too, on a busy machine
        refute_includes(commands, "blpop")
        slow = proxy.slow.select { |one| one[:command] == "eval" }
        assert(slow[0][:seconds].between?(0.2, 60))
        assert_in_delta(Time.now, slow[0][:at], 60)
        assert_equal(redis.call("CLIENT", "ID")[/\d+/].to_i, slow[0][:client])
      end
    end
  end

  # What was asked is answered, in transactions too; who asks nothing is closed; nobody new comes in.
  def test_draining
    with_proxy(threads: 2) do |proxy|
      idle, busy, begun = Array.new(3) { converse(proxy.port).tap { |redis| redis.call("PING") } }
      begun.pipeline([%w[MULTI], %w[SET k v]])
      busy.write(encode("EVAL", busy(0.5), "1", "k"))
      wait_until { proxy.figures[:commands] >= 6 }
      before = listeners_at(proxy.port)
      ending = Thread.new { proxy.drain(within: 60) }
      assert_nil(idle.reply)
      wait_until { !before.intersect?(listeners_at(proxy.port)) }
      assert_equal([":1\r\n", nil], [busy.reply, busy.reply])
      assert_equal("*1\r\n+OK\r\n", begun.call("EXEC"))
      assert_equal([true, false], [ending.value, proxy.running?])
      assert_operator(proxy.figures[:commands], :>=, 7)
      [idle, busy, begun].each(&:close)
    end
  end

  def test_who_waits_longer_than_the_drain_is_cut
    with_proxy do |proxy|
      waits = converse(proxy.port)
      waits.write(encode("BLPOP", "l", "0"))
      wait_until { proxy.figures[:commands] == 1 }
      refute(proxy.drain(within: 0.2))
      assert_nil(waits.reply)
      waits.close
    end
  end

  def test_reloading_with_the_same_places
    with_proxy do |proxy|
      converse(proxy.port) do |stays|
        stays.call("SET", "k", "v")
        assert(proxy.reload(nodes: addresses, timeout: 30, password: "new"))
        assert_equal("$1\r\nv\r\n", stays.call("GET", "k"))
        assert_match(/\A-NOAUTH/, call(proxy.port, "GET", "k"))
        wait_until { proxy.figures[:clients] == 1 }
      end
      assert_operator(proxy.figures[:commands], :>=, 2)
    end
  end

  # Prometheus takes what falls for a start from zero.
  def test_no_total_falls_over_reloads
    with_proxy(metrics: "127.0.0.1:0") do |proxy|
      seen = [totals(proxy)]
      done = false
      reader = Thread.new { seen << totals(proxy) until done }
      stays = converse(proxy.port)
      5.times do
        converse(proxy.port) { |goes| 50.times { goes.call("GET", "k") } }
        proxy.reload(nodes: addresses, timeout: 30)
        stays.call("GET", "k")
      end
      done = true
      reader.join
      seen << totals(proxy)
      seen.each_cons(2) { |before, after| before.each { |name, value| assert_operator(after[name], :>=, value, name) } }
      names = %w[plait_shard_commands_total plait_shard_command_received_total{command="get"}]
      assert_equal([255, 255], seen.last.values_at(*names))
      assert_operator(seen.last.sum { |name, value| name.include?("node_requests") ? value : 0 }, :>=, 255)
      stays.close
    end
  end

  def test_slow_and_hot_commands_of_clients_who_stay_and_who_have_gone
    with_proxy(slow: 0.05, hot: 0.3) do |proxy|
      stays = converse(proxy.port)
      stays.call("PING")
      proxy.reload(nodes: addresses, slow: 0.05, hot: 0.3)
      wait_until { stays.pipeline([%w[GET hot]] * 3000) && proxy.hot_keys.any? }
      stays.call("EVAL", busy(0.1), "1", "k")
      assert_includes(proxy.slow.map { |one| one[:command] }, "eval")
      stays.close
      wait_until { proxy.figures[:clients].zero? }
      proxy.reload(nodes: addresses)
      assert_includes(proxy.slow.map { |one| one[:command] }, "eval")
    end
  end

  # Each plane has threads: those of more than a few whose clients stay are ended, when their clients wait for nothing.
  def test_planes_of_many_reloads_end
    with_proxy do |proxy|
      staying = Array.new(8) do
        client = converse(proxy.port)
        client.call("PING")
        proxy.reload(nodes: addresses)
        client
      end
      kept = staying.last(Plait::Shard.const_get(:Retirement)::MOST)
      (staying - kept).each { |client| assert_nil(client.reply) }
      kept.each { |client| assert_equal("+PONG\r\n", client.call("PING")) }
      wait_until { Thread.list.count { |thread| thread.inspect.include?("retirement.rb") } <= 1 }
      kept.each(&:close)
      wait_until { proxy.figures[:clients].zero? && Thread.list.none? { |thread| thread.inspect.include?("retirement.rb") } }
    end
  end

  # Nobody reads where keys no longer are, and no connection is refused meanwhile.
  def test_reloading_with_other_nodes
    with_proxy(nodes.first(2), threads: 2) do |proxy|
      converse(proxy.port) do |before|
        before.call("SET", "k", "v")
        connecting = Thread.new { Array.new(200) { call(proxy.port, "PING") } }
        refute(proxy.reload(nodes: addresses, placement: :cluster))
        assert_nil(before.reply)
        assert_equal(["+PONG\r\n"], connecting.value.compact.uniq)
        assert_equal(4, proxy.placement.nodes.size)
        key = key_on(proxy, 3)
        assert_equal("+OK\r\n", call(proxy.port, "SET", key, "there"))
        assert_equal("$5\r\nthere\r\n", call(nodes[3].port, "GET", key))
      end
    end
  end

  def test_reloading_what_is_wrong_changes_nothing
    with_proxy do |proxy|
      converse(proxy.port) do |redis|
        assert_raises(Plait::UsageError) { proxy.reload(nodes: addresses, timeouts: 1) }
        assert_raises(Plait::ResolveError) { proxy.reload(nodes: %w[nowhere.invalid:1]) }
        assert_equal("+PONG\r\n", redis.call("PING"))
      end
      proxy.stop
      assert_raises(Plait::UsageError) { proxy.reload(nodes: addresses) }
    end
  end

  def test_nothing_is_left
    nodes
    assert_no_leaks do
      with_proxy(metrics: "127.0.0.1:0") do |proxy|
        get(proxy, "/status")
        proxy.reload(nodes: addresses)
        proxy.reload(nodes: addresses.first(2), within: 1)
        proxy.drain(within: 1)
      end
    end
  end

  def test_doors_that_are_none
    { "listen" => "a:99999", "metrics" => "a:1:2" }.each do |name, text|
      error = assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(nodes: %w[a:1], name.to_sym => text) }
      assert_match(/#{name}: is HOST:PORT/, error.message)
    end
    assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(nodes: %w[a:1], threads: 1.5) }
    assert_raises(Plait::UsageError) { Plait::Shard::Proxy.new(nodes: %w[a:1], clients: 1 << 40) }
  end

  # Else each would get half of the connections of the other.
  def test_two_proxies_at_one_door
    with_proxy(threads: 2) do |proxy|
      other = Plait::Shard::Proxy.new(nodes: %w[127.0.0.1:1], listen: "127.0.0.1:#{proxy.port}", threads: 2)
      assert_raises(Plait::ListenError) { other.start }
    end
  end

  private

  def busy(seconds) = LONG_SCRIPT.sub("ARGV[1]", seconds.to_s)

  def http(proxy, &block) = Net::HTTP.start("127.0.0.1", proxy.metrics_port, nil, &block)

  def totals(proxy)
    get(proxy, "/metrics").scan(/^(plait_shard_\w*(?:total|count)\S*) ([0-9.]+)$/).to_h { |name, value| [name, value.to_f] }
  end

  def get(proxy, path) = http(proxy) { |http| http.get(path) }.body
end
