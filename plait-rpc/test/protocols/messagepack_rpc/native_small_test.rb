# frozen_string_literal: true

require "test_helper"
require "plait/protocols/messagepack_rpc"
require "msgpack"

# Small values that the extension packs and unpacks itself, held against the gem.
class MessagePackRPCNativeSmallTest < Minitest::Test
  def setup
    skip("the extension is not there: #{Plait.const_get(:Native)::REASON}") unless Plait.const_get(:Native).available?
  end

  def small = Plait.const_get(:Protocols)::MessagePackRPC::NativeSmall

  # Where the forms change.
  EDGES = [0, 31, 32, 127, 128, 255, 256, 65_535, 65_536, (2**31) - 1, 2**31, (2**32) - 1, 2**32, (2**62) - 1]
          .flat_map { |number| [number, -number, -number - 1] }.freeze
  SCALARS = [nil, true, false, 0.0, -0.0, 1.5, 1e300, 1e-310, Float::INFINITY, -Float::INFINITY, *EDGES].freeze
  STRINGS = [0, 1, 31, 32, 255, 256, 400].flat_map { |size| ["x" * size, "x".b * size] } + ["ä€😀", "\xFF", "\xFF".b]

  def test_every_form
    arrays = [[], [[]], Array.new(15, 1), Array.new(16, 1), Array.new(300, nil)]
    [*SCALARS, *STRINGS, *arrays].each { |value| assert_same_form(value) }
  end

  def test_values_at_random
    random = Random.new(3)
    3_000.times { assert_same_form(value(random, 3)) }
  end

  def test_what_is_not_a_number
    assert_equal(Float::NAN.to_msgpack, small.pack(Float::NAN))
    told = small.unpack(Float::NAN.to_msgpack)
    assert_predicate(told.first, :nan?)
  end

  # For the gem.
  def test_what_is_left_to_others
    text = Class.new(String).new("x")
    list = Class.new(Array).new([1])
    own = +"x"
    def own.to_msgpack(packer) = packer.write("y")
    [2**63, :a, { 1 => 2 }, 1..2, Object.new, "ä".encode("UTF-16LE"), text, list, own, "x" * 600, [1] * 600, nested(9),
     [{}], BasicObject.new].each { |value| assert_nil(small.pack(value)) }
    extension = MessagePack::ExtensionValue.new(5, "x")
    [{}, { 1 => 2 }, [{}], extension, [1] * 600, "x" * 600, nested(9)].each { |value| assert_nil(small.unpack(value.to_msgpack)) }
  end

  # Nothing that is not exactly one value, whatever the bytes are.
  def test_bytes_at_random
    random = Random.new(4)
    20_000.times do
      bytes = random.bytes(random.rand(1..12))
      told = small.unpack(bytes)
      next unless told

      assert_equal(by_gem(bytes).inspect, told.first.inspect, bytes.inspect)
      assert_equal(bytes.bytesize, told.first.to_msgpack.bytesize) if told.first.is_a?(String) && bytes.getbyte(0) < 0xc0
    end
  end

  def test_cut_anywhere
    [*SCALARS, "x" * 40, [1, [2.5, "x"], nil]].each do |value|
      packed = value.to_msgpack
      (0...packed.bytesize).each { |size| assert_nil(small.unpack(packed[0, size]), value.inspect) }
      assert_nil(small.unpack(packed + nil.to_msgpack), value.inspect)
    end
  end

  private

  def assert_same_form(value)
    packed = value.to_msgpack
    assert_equal(packed, small.pack(value), value.inspect) if packed.bytesize <= 512
    told = small.unpack(packed) or return assert_operator(packed.bytesize, :>, 512)
    assert_equal([value].inspect, told.inspect)
    assert_equal(encodings(by_gem(packed)), encodings(told.first))
    refute_predicate(told.first, :frozen?) if value.is_a?(String)
  end

  def encodings(value) = Array(value).flatten.map { |one| one.is_a?(String) ? one.encoding : one.class }

  def by_gem(bytes) = MessagePack.unpack(bytes)

  def nested(depth) = Array.new(depth).reduce(1) { |value, _| [value] }

  def value(random, depth)
    case random.rand(depth.positive? ? 5 : 4)
    when 0 then SCALARS.sample(random: random)
    when 1 then random.rand(2**random.rand(1..62)) * [1, -1].sample(random: random)
    when 2 then random.bytes(random.rand(40))
    when 3 then "aä€"[0, random.rand(4)] * random.rand(9)
    else Array.new(random.rand(18)) { value(random, depth - 1) }
    end
  end
end
