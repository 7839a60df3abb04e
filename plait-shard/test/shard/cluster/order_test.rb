# frozen_string_literal: true

require_relative "../../fuzz/shard_plane"
require "support/waiting"
require_relative "../proxy/fake_nodes"

# Commands of one client for one key, whose slot is on its way, are done in their order: before nodes that say what a test wants
# them to, of which the first has the slot. The plane hears of moves only where a test tells it.
class ShardClusterOrderTest < Minitest::Test
  include ShardPlane
  include FakeNodes

  SECONDS = 30
  FLAGS = %w[-std=gnu11 -D_GNU_SOURCE -O0].freeze # it is built for each test
  SLOT = 3300 # of "b"
  FIRST = %w[SET b 1].freeze
  SECOND = %w[SET b 2].freeze

  # Remembers what it was asked. Its block is called with the words, whether ASKING came before them, and how often they came.
  class Node < FakeNodes::Node
    attr_reader :taken

    def initialize(&answer)
      @taken = []
      @answer = answer
      super(0) { |socket| serve(socket) }
    end

    private

    def serve(socket)
      asking = false
      while (words = read(socket))
        next socket.write("+PONG\r\n") if words == ["PING"]

        @taken << words
        socket.write(words == ["ASKING"] ? "+OK\r\n" : @answer.call(words, asking, @taken.count(words)))
        asking = words == ["ASKING"]
      end
    end

    def read(socket)
      header = socket.gets or return
      Array.new(Integer(header[1..])) { socket.read(Integer(socket.gets[1..]) + 2).chomp }
    end
  end

  # The second node does not know yet that the slot is its own when the first command comes, and knows it for the next.
  def test_what_is_sent_back_and_forth_is_not_overtaken
    from = node { moved(to) }
    @to = node { |words, _, times| words == FIRST && times == 1 ? moved(from) : "+OK\r\n" }
    with_nodes(from, to) do |client|
      assert_equal(["+OK\r\n"] * 2, client.pipeline([FIRST, SECOND]))
      assert_equal([FIRST, FIRST, SECOND], to.taken)
    end
  end

  # Keys on both sides: TRYAGAIN says nothing of the slot.
  def test_what_is_tried_again_later_is_not_overtaken
    both = ["SUNIONSTORE", "{b}", "{b}1", "{b}2"]
    from = node { "-ASK #{SLOT} 127.0.0.1:#{to.port}\r\n" }
    @to = node { |words, asking, times| incoming(words, asking, from) { words == both && times < 3 } }
    with_nodes(from, to) do |client|
      assert_equal(["+OK\r\n"] * 3, client.pipeline([both, FIRST, SECOND]))
      assert_operator(to.taken.rindex(both), :<, to.taken.index(FIRST))
      assert_operator(to.taken.rindex(FIRST), :<, to.taken.index(SECOND))
    end
  end

  def test_a_node_that_gets_a_slot_is_told_each_time_that_it_is_asked
    from = node { "-ASK #{SLOT} 127.0.0.1:#{to.port}\r\n" }
    @to = node { |words, asking| incoming(words, asking, from) { false } }
    with_nodes(from, to) do |client|
      assert_equal(["+OK\r\n"] * 2, client.pipeline([FIRST, SECOND]))
      assert_equal([["ASKING"], FIRST, ["ASKING"], SECOND], to.taken)
    end
  end

  # The slot stays where it is after all, and the first node would take what comes behind.
  def test_nothing_is_sent_behind_what_was_redirected_before_that_is_answered
    answer = Queue.new
    from = node { |words| words == FIRST ? moved(to) : "+OK\r\n" }
    @to = node { |words| answer.pop && "+#{words.last}\r\n" }
    with_nodes(from, to) do |client|
      client.write(encode(*FIRST))
      await { to.taken == [FIRST] }
      client.write(encode(*SECOND))
      assert_equal("+PONG\r\n", other_call("PING"))
      assert_equal([FIRST], from.taken)
      answer << true
      assert_equal("+1\r\n", client.reply)
      assert_equal("+OK\r\n", client.reply)
      assert_equal([FIRST, SECOND], from.taken)
    end
  end

  # Where the next command belongs is known anew, but the first is still asked for at the former place.
  def test_nothing_is_sent_by_a_new_topology_before_all_is_answered_by_the_former
    answer = Queue.new
    from = node { answer.pop && moved(to) }
    @to = node { "+OK\r\n" }
    with_nodes(from, to, node { "+other\r\n" }) do |client, plane|
      client.write(encode(*FIRST))
      await { from.taken == [FIRST] }
      move_to_second(plane)
      client.write(encode(*SECOND))
      other_call("GET", "a")
      refute_includes(to.taken, SECOND)
      answer << true
      assert_equal(["+OK\r\n"] * 2, Array.new(2) { client.reply })
      assert_equal([FIRST, SECOND], to.taken - [%w[GET a]])
    end
  end

  private

  attr_reader :to

  def moved(node) = "-MOVED #{SLOT} 127.0.0.1:#{node.port}\r\n"

  # Of a node that is getting the slot; the block says whether keys are still missing.
  def incoming(words, asking, from)
    return moved(from) unless asking

    yield(words) ? "-TRYAGAIN\r\n" : "+OK\r\n"
  end

  def node(&block) = Node.new(&block).tap { |node| (@fake_nodes ||= []) << node }

  def with_nodes(*nodes)
    with_plane(FLAGS, nodes, threads: -1) do |port, plane|
      @port = port
      converse(port) { |client| yield client, plane }
    end
  end

  # Of another client: what was sent before it has been seen.
  def other_call(*words) = call(@port, *words)

  # The slot, and then that of "a", which the third node has: that the plane has taken up both is seen there.
  def move_to_second(plane)
    plane.puts("#{SLOT} 1", "15495 1")
    await { other_call("GET", "a") == "+OK\r\n" }
  end

  def await(&block) = Support::Waiting.wait_until(timeout: 30, &block)
end
