# frozen_string_literal: true

require "test_helper"
require "plait/shard"

class ShardNodeNumbersTest < Minitest::Test
  Numbers = Plait::Shard.const_get(:NodeNumbers)
  Topology = Plait::Shard.const_get(:Topology)
  NONE = Numbers::NONE
  ACCESS = Plait::Shard.const_get(:NodeAccess).new(Plait::Shard.const_get(:Encryption).new, timeout: 1)

  def test_numbers_of_masters_and_replicas
    own = topology(%w[a b], [%w[c], []])
    masters, owners, readable = numbers_of(own, grows: false).plan(own).last
    assert_equal([[0, 1], [0, 1, 0], [0, 0, 1]], [masters.unpack("L*"), owners.unpack("L*"), readable.unpack("C*")])
  end

  def test_a_number_is_never_another_nodes
    numbers = numbers_of(topology(%w[a b], [[], []]), grows: true)
    failed_over = topology(%w[b c], [[], %w[d]])
    assert(numbers.add(failed_over.nodes))
    nodes, _, (masters, owners, readable) = numbers.plan(failed_over)
    assert_equal(%w[127.0.0.1:1 127.0.0.1:2 127.0.0.1:3 127.0.0.1:4], nodes.map { |_, label, _| label })
    assert_equal([1, 2], masters.unpack("L*"))
    assert_equal([NONE, 1, 2, 2], owners.unpack("L*"))
    assert_equal([0, 0, 0, 1], readable.unpack("C*"))
  end

  def test_a_former_master_is_followed_by_who_bears_its_name
    former, now = [1, 2].map do |port|
      Topology.new(Plait::Shard::Placement.new([Plait::Shard::Node.new("127.0.0.1", port, name: "m")]))
    end
    numbers = numbers_of(former, grows: true)
    numbers.plan(former)
    numbers.add(now.nodes)
    assert_equal([1, 1], numbers.plan(now)[2][1].unpack("L*"))
  end

  def test_other_masters_are_another_generation
    numbers = numbers_of(topology(%w[a b], [%w[c], []]), grows: true)
    generations = [topology(%w[a b], [%w[c], []]), topology(%w[c b], [%w[a], []]), topology(%w[a b], [[], %w[c]])].map do |one|
      numbers.plan(one)[2][3]
    end
    refute_equal(*generations.first(2))
    assert_equal(generations[0], generations[2])
  end

  def test_there_is_an_end_of_room
    numbers = numbers_of(topology(%w[a], [[]]), grows: true)
    assert_equal(Numbers::LEAST_ROOM, numbers.room)
    others = Array.new(Numbers::LEAST_ROOM) { |i| Plait::Shard::Node.new("127.0.0.2", i + 1) }
    refute(numbers.add(others))
    assert(numbers.add(others.drop(1)))
  end

  private

  def numbers_of(topology, **options) = Numbers.new(topology, ACCESS, **options)

  def node(letter) = Plait::Shard::Node.new("127.0.0.1", letter.ord - "a".ord + 1)

  def topology(masters, replicas)
    placement = Plait::Shard::Placement.new(masters.map { |letter| node(letter) })
    Topology.new(placement, replicas: replicas.map { |own| own.map { |letter| node(letter) } })
  end
end
