# frozen_string_literal: true

require_relative "../shard/proxy/fake_nodes"
require_relative "shard_plane"

# What the data plane does with memory, under ASan with its search for leaks, and UBSan.
class ShardMemoryTest < Minitest::Test
  include ShardPlane
  include FakeNodes

  SECONDS = Integer(ENV.fetch("PLAIT_FUZZ_SECONDS", "4"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "73"))
  WRAPPED = %w[malloc calloc realloc strdup strndup mmap].map { |name| "-Wl,--wrap=#{name}" }.freeze
  HUGE = 2**63
  COMMANDS = [
    %w[MULTI], %w[EXEC], %w[DISCARD], %w[WATCH a], %w[UNWATCH], %w[SET a 1], %w[GET a], %w[SORT a BY x*], %w[COPY a b],
    %w[BLPOP l 0.05], %w[BLPOP none 0], %w[LPUSH l x], %w[SSUBSCRIBE a], %w[SUBSCRIBE c], %w[UNSUBSCRIBE], %w[PUBLISH c x],
    %w[SCAN 0], %w[SCAN x], %w[KEYS *], %w[MGET a b c d], %w[DEL a b c], %w[HELLO 3], %w[HELLO 2 AUTH u p], %w[AUTH u p],
    %w[RESET],
    %w[CLIENT SETNAME n], %w[CLIENT LIST], %w[CLIENT INFO], %w[INFO], %w[CONFIG GET max*], %w[DBSIZE], %w[WAIT 0 10],
    %w[EXISTS a b], %w[NONSENSE], %w[SET a], %w[RANDOMKEY], %w[SCRIPT EXISTS a], %w[QUIT], %w[FLUSHALL], %w[PING],
    %w[SPUBLISH a x],
    ["SET", "a", "v" * 200_000], ["LPUSH", "l", "v" * 50_000, "w"], ["MGET", *Array.new(600) { |i| "k#{i}" }],
    ["SET", "big", "v" * 3_000_000], %w[GET big], ["MSET", *Array.new(900) { |i| (i * 77).to_s * 40 }]
  ].freeze

  def test_memory_that_is_refused
    with_plane(FAILING, nodes) { |port| disturb(port) }
  end

  # The client can't even be told, and is closed.
  def test_memory_that_is_refused_for_refusals_in_a_transaction
    refused = encode("SORT", "a", "BY", "x*") * 40_000
    with_plane(FAILING, nodes, threads: 1) { |port| 5.times { listen_to_all(port, encode("MULTI") + refused + encode("QUIT")) } }
  end

  # All is redirected, and back.
  def test_memory_that_is_refused_before_a_cluster
    ports = Queue.new
    fakes = Array.new(2) { |i| redirecting_node(ports, i) }
    2.times { ports << fakes.map(&:port) }
    with_plane(FAILING, fakes, threads: CLUSTER_THREADS) { |port| disturb(port) }
  end

  def test_figures_that_are_too_large_for_a_sum
    info = "used_memory:#{HUGE - 1}\r\n# Keyspace\r\ndb0:keys=#{HUGE},expires=#{HUGE},avg_ttl=#{HUGE}\r\n" \
           "# Commandstats\r\ncmdstat_x:calls=#{HUGE},usec=#{HUGE},usec_per_call=1,#{"a=,a=#{HUGE}," * 40}\r\n"
    with_plane(ASAN, Array.new(3) { answering_node("$#{info.bytesize}\r\n#{info}\r\n") }) do |port|
      reply = call(port, "INFO")
      assert_match(/^used_memory:#{HUGE - 1}\r$/, reply)
      assert_match(/^db0:keys=#{HUGE - 1},expires=#{HUGE - 1},avg_ttl=\d+\r$/, reply)
    end
  end

  # A node sends all to another that can't be reached, or is not asked at all.
  def test_redirected_requests_that_can_not_be_asked_are_freed
    gone = Struct.new(:port).new(CLOSED)
    node = answering_node("-MOVED 1 127.0.0.1:#{gone.port}\r\n")
    with_plane(ASAN, [node, gone], threads: -1) do |port|
      converse(port) do |client|
        50.times { assert_match(/\A-ERR node 127.0.0.1:#{gone.port} /, client.call("GET", "{b}#{"k" * 50}")) }
      end
    end
  end

  private

  FAILING = [*ASAN, "-DSHARD_FAILING", *WRAPPED].freeze
  private_constant :FAILING

  def disturb(port) = Array.new(4) { |i| leaving(port, Random.new(SEED + i), COMMANDS) }.each(&:value)

  def listen_to_all(port, bytes)
    converse(port) do |client|
      client.write(bytes)
      nil while client.reply
    end
  rescue SystemCallError, Plait::Error
    nil # it was closed
  end

  # A reply to each command, if they come apart: most often that it is at the other node.
  def redirecting_node(ports, number)
    other = nil
    fake_node do |socket|
      random = Random.new(SEED + number)
      other ||= ports.pop[1 - number]
      while (bytes = socket.readpartial(1 << 16))
        bytes.scan(/^\*\d/).size.times do
          replies = ["-MOVED 1 127.0.0.1:#{other}", "-ASK 1 127.0.0.1:#{other}", "-TRYAGAIN", "+OK", "$1\r\nv"]
          socket.write("#{replies.sample(random: random)}\r\n")
        end
      end
    end
  end
end
