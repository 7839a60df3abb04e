# frozen_string_literal: true

require_relative "proxy/fake_nodes"
require "json"
require "net/http"

class ShardNodeSurveyTest < Minitest::Test
  include ShardNodes
  include FakeNodes

  RANGE = ["type", "range", "spec", ["lastkey", 0, "keystep", 1, "limit", 0]].freeze
  FROM_ONE = ["type", "index", "spec", ["index", 1]].freeze
  UNKNOWN = ["type", "unknown", "spec", []].freeze

  def test_commands_of_modules
    rows = [command("mod.set", 3, specs: [[FROM_ONE, RANGE]]), command("mod.clear", 1),
            command("mod.hidden", -2, specs: [[FROM_ONE, UNKNOWN]]),
            command("mod.two", -3, specs: [[FROM_ONE, ["type", "range", "spec", ["lastkey", -1, "keystep", 1, "limit", 0]]]])]
    with_fakes(*%w[a b].map { |name| talking_node(rows, answer: name) }, metrics: "127.0.0.1:0") do |proxy, keys|
      wait_until { learned?("mod.two") }
      converse(proxy.port) do |redis|
        assert_equal(%W[+a\r\n +b\r\n +b\r\n], [*keys, keys[1]].map { |key| redis.call("MOD.SET", key, "x") })
        assert_match(/\A-CROSSSLOT/, redis.call("MOD.TWO", *keys))
        assert_match(/\A-ERR 'mod.clear' can't be used/, redis.call("MOD.CLEAR"))
        assert_match(/\A-ERR 'mod.hidden' can't be used/, redis.call("MOD.HIDDEN", "k"))
        assert_match(/\A-ERR wrong number of arguments for 'mod.set'/, redis.call("MOD.SET", "k"))
      end
      status = JSON.parse(Net::HTTP.get(URI("http://127.0.0.1:#{proxy.metrics_port}/status")))
      assert_equal([4, 1], %w[mod.set mod.two].map { |name| status["commands"][name]["count"] })
    end
  end

  # Keys that are found by it would never come to an end, or be where nothing is.
  def test_nonsense_is_not_learned
    odd = { "odd.step" => [1, 0], "odd.start" => [0, 1], "odd.large" => [1, 1 << 40], "odd.#{"x" * 50}" => [1, 1] }
    rows = odd.map do |name, (index, step)|
      range = ["type", "range", "spec", ["lastkey", -1, "keystep", step, "limit", 0]]
      command(name, -2, specs: [[["type", "index", "spec", ["index", index]], range]])
    end
    [rows, [["odd"]], [[1, 2]], [], nil].each do |reply|
      with_fakes(talking_node(reply, names: odd.keys)) do |proxy, keys|
        converse(proxy.port) do |redis|
          odd.each_key { |name| assert_match(/\A-ERR unknown command/, redis.call(name, keys[0])) }
          assert_equal("+fine\r\n", redis.call("GET", keys[0]))
        end
      end
    end
  end

  def test_the_version_that_clients_are_told_is_the_oldest
    with_fakes(talking_node([], version: "7.4.1"), talking_node([], version: "7.2.10")) do |proxy, _|
      wait_until { call(proxy.port, "HELLO").match?(/version\r\n\$6\r\n7\.2\.10\r\n/) }
    end
    with_proxy { |proxy| wait_until { [plain, proxy].map { |one| call(one.port, "HELLO")[/version\r\n\S+\r\n\S+/] }.uniq.one? } }
  end

  def test_nodes_that_refuse_or_say_nothing
    refusing = [answering_node("-NOPERM no\r\n"), {}, /\A-NOPERM/]
    [refusing, [silent_node, { timeout: 2 }, /has sent nothing/]].each do |node, options, reply|
      with_fakes(node, **options) do |proxy, keys|
        assert_match(/version\r\n\$5\r\n7\.0\.0/, call(proxy.port, "HELLO"))
        assert_match(reply, call(proxy.port, "GET", keys[0]))
      end
    end
  end

  def test_a_node_that_comes_later_is_asked_then
    told = Queue.new
    survey = survey_of(port = Support::Server.free_port) { |version| told << version }
    assert_empty(told)
    (@fake_nodes ||= []) << Node.new(port, &talk([], version: "7.4.0"))
    assert_equal([7, 4, 0], Timeout.timeout(40) { told.pop })
  ensure
    survey&.close
  end

  # It has told its version by then.
  def test_a_node_that_is_lost_before_it_has_told_its_commands_is_asked_again
    lost = 0
    words = talk([command("mod.late", 2, specs: [[FROM_ONE, RANGE]])])
    node = fake_node do |socket|
      next words.call(socket) if (lost += 1) > 1

      socket.readpartial(1 << 16)
      socket.write(encoded("redis_version:7.0.1\r\n"))
    end
    survey = survey_of(node.port)
    wait_until { learned?("mod.late") }
  ensure
    survey&.close
  end

  private

  def learned?(name) = Plait.const_get(:NativeShard)::Plane.keys_of([name, "k", "k"])

  # @yieldparam version [Array<Integer>] that the data plane is told
  def survey_of(port, &told)
    plane = Object.new
    plane.define_singleton_method(:tell_version) { |*version| told&.call(version) }
    access = Plait::Shard.const_get(:NodeAccess).new(Plait::Shard.const_get(:Encryption).new, timeout: 1)
    Plait::Shard.const_get(:NodeSurvey).new(plane, access, lasting: false, period: 0.02) { [Plait::Shard::Node.new("127.0.0.1", port)] }
  end

  def command(name, arity, specs: [])
    keys = specs.map { |search, find| ["flags", [], "begin_search", search, "find_keys", find] }
    [name, arity, ["readonly"], 1, 1, 1, [], [], keys, []]
  end

  # A server with these commands beside those that all know, which answers everything else with one word.
  def talking_node(...) = fake_node(&talk(...))

  def talk(rows, names: rows.map(&:first), version: "7.0.15", answer: "fine")
    lambda do |socket|
      loop do
        case socket.readpartial(1 << 16)
        when /INFO\r\n\$6\r\nserver/ then socket.write(encoded("redis_version:#{version}\r\n"))
        when /COMMAND\r\n\$4\r\nLIST/ then socket.write(encoded(%w[get config|get] + names))
        when /COMMAND\r\n\$4\r\nINFO/ then socket.write(encoded(rows))
        else socket.write("+#{answer}\r\n")
        end
      end
    end
  end

  def encoded(value)
    case value
    when nil then "*-1\r\n"
    when Integer then ":#{value}\r\n"
    when Array then "*#{value.size}\r\n#{value.map { |one| encoded(one) }.join}"
    else "$#{value.bytesize}\r\n#{value}\r\n"
    end
  end
end
