# frozen_string_literal: true

require "test_helper"
require "msgpack"
require_relative "samples"
require_relative "transcript"

# The engine against the gem msgpack, and the parser in Ruby against the engine, on random bytes, cut at random. Reproducible:
# PLAIT_SEED=the seed of the message.
class MessagePackRPCDifferentialTest < Minitest::Test
  ROUNDS = Integer(ENV.fetch("PLAIT_ROUNDS", "4000"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "20"))
  SAMPLES = (Samples::GOOD + Samples::BAD).map(&:bytes).freeze
  VALUES = PackedValues::ALL.values.freeze
  # Headers, for a mutation to begin something.
  BITS = [*0x80..0x9f, *0xc0..0xdf].map(&:chr).freeze
  LIMITS = { message: [20, 60, 256 << 20], nesting: [1, 2, 100], elements: [3, 10, 1 << 22], method_name: [2, 1024] }.freeze
  PURE = Transcript::MessagePackRPC.const_get(:PureParser)
  LARGE = [1, 4, 30, 64 * 1024, nil].freeze

  def test_random_messages
    rounds(0) do |round, random|
      compare(round, random, Array.new(random.rand(1..4)) { random_message(random) }.join)
    end
  end

  def test_mutated_samples
    rounds(1) { |round, random| compare(round, random, mutate(SAMPLES.sample(random: random), random)) }
  end

  def test_mutated_messages
    rounds(2) do |round, random|
      compare(round, random, mutate(Array.new(random.rand(1..3)) { random_message(random) }.join, random))
    end
  end

  def test_random_bytes_in_a_message
    rounds(3) do |round, random|
      start = ["\x94\x01\x01\xC0", "\x94\x00\x01\xA1m", "\x93\x02\xA1m", "\x94\x01\x01", ""].sample(random: random).b
      compare(round, random, start + random.bytes(random.rand(60)))
    end
  end

  def test_what_the_codec_packs
    codec = codec_or_skip
    rounds(4) do |round, random|
      value = value(random, 3)
      frame = Transcript::MessagePackRPC::Writer.new(join: random.rand(300)).response(round, codec.pack(value)).take.join
      engine, large = Transcript::PARSERS.keys.sample(random: random), LARGE.sample(random: random)
      seen = Transcript.of(engine, cut(frame, random), large: large)
      assert_equal([[:response, round, nil, nil, value, frame.bytesize]], seen[:messages], "PLAIT_SEED=#{SEED + round}")
    end
  end

  private

  def rounds(test)
    ROUNDS.times do |number|
      round = (test * ROUNDS) + number
      yield(round, Random.new(SEED + round))
    end
  end

  # ---- what is compared

  def compare(round, random, bytes)
    how = { limits: limits(random), large: LARGE.sample(random: random), eof: random.rand(2).zero?, append: random.rand(2).zero? }
    pieces = cut(bytes, random)
    where = "PLAIT_SEED=#{SEED + round} #{pieces.inspect} #{how}"
    whole = Transcript.of("native", [bytes], **how)
    assert_equal(whole.inspect, Transcript.of("native", pieces, **how).inspect, "#{where}: cut or whole")
    pure = Transcript.of(PURE, pieces, **how, append: false)
    assert_equal(whole[:messages].inspect, pure[:messages].inspect, "#{where}: in Ruby")
    assert_equal(whole[:error].nil?, pure[:error].nil?, "#{where}: in Ruby") if how[:eof]
    compare_with_gem(bytes, whole[:messages], where)
  end

  # inspect: NaN is not equal to itself.
  def compare_with_gem(bytes, messages, where)
    return unless gem?

    unpacker = MessagePack::Factory.new.unpacker(allow_unknown_ext: true)
    unpacker.feed(bytes)
    messages.each do |kind, id, method, error, value|
      frame = plain(unpacker.read)
      assert_equal(expected(kind, id, method, error, value).inspect, normal(frame).inspect, where)
    end
  end

  def expected(kind, id, method, error, value)
    case kind
    when :request then [0, id, method.b, value]
    when :response then [1, id, error, value]
    else [2, method.b, value]
    end
  end

  # The method as bytes: it may be bin.
  def normal(frame)
    at = { 0 => 2, 2 => 1 }[frame.first]
    at ? frame.dup.tap { |copy| copy[at] = copy[at].b } : frame
  end

  def plain(value)
    case value
    when Array then value.map { |element| plain(element) }
    when Hash then value.to_h { |key, element| [plain(key), plain(element)] }
    when MessagePack::ExtensionValue then [:ext, value.type, value.payload]
    else value
    end
  end

  def gem? = @gem.nil? ? @gem = !!codec : @gem

  def codec
    Transcript::MessagePackRPC::Codec.new
  rescue Plait::UnsupportedError
    nil
  end

  def codec_or_skip = codec || skip("there is no gem msgpack")

  # ---- what is random

  def random_message(random)
    id, method = PackedValues::IDS.values.sample(random: random), PackedValues::METHODS.values.sample(random: random)
    case random.rand(3)
    when 0 then "\x94\x00".b + id + method + array(random, 3)
    when 1 then "\x94\x01".b + id + packed(random, 2) + packed(random, 3)
    else "\x93\x02".b + method + array(random, 3)
    end
  end

  def packed(random, depth)
    case depth.zero? ? 0 : random.rand(4)
    when 1 then array(random, depth)
    when 2 then map(random, depth)
    else VALUES.sample(random: random)
    end
  end

  def array(random, depth)
    count = random.rand(5)
    header(random, count, 0x90, 0xdc) + Array.new(count) { packed(random, depth - 1) }.join
  end

  def map(random, depth)
    count = random.rand(4)
    header(random, count, 0x80, 0xde) + Array.new(count * 2) { packed(random, depth - 1) }.join
  end

  def header(random, count, short, long)
    case random.rand(4)
    when 0 then [long, count].pack("Cn")
    when 1 then [long + 1, count].pack("CN")
    else [short | count].pack("C")
    end
  end

  def value(random, depth)
    case depth.zero? ? random.rand(5) : random.rand(7)
    when 0 then random.rand(1 << 64) - (random.rand(2).zero? ? 0 : 1 << 63)
    when 1 then [nil, true, false, 1.5, "größe"].sample(random: random)
    when 2 then "x" * random.rand(400)
    when 3 then random.bytes(random.rand(400))
    when 4 then random.rand(200)
    when 5 then Array.new(random.rand(4)) { value(random, depth - 1) }
    else Array.new(random.rand(4)) { |i| [i, value(random, depth - 1)] }.to_h
    end
  end

  def mutate(bytes, random)
    bytes = bytes.dup
    random.rand(1..4).times do
      at = random.rand(bytes.bytesize + 1)
      case random.rand(5)
      when 0 then bytes.insert(at, BITS.sample(random: random).b)
      when 1 then bytes[at, random.rand(1..4)] = "".b
      when 2 then bytes.setbyte(at, random.rand(256)) if at < bytes.bytesize
      when 3 then bytes.insert(at, VALUES.sample(random: random))
      else bytes[at, 1] = BITS.sample(random: random).b if at < bytes.bytesize
      end
    end
    bytes
  end

  def limits(random)
    random.rand(3).zero? ? LIMITS.transform_values { |values| values.sample(random: random) } : {}
  end

  def cut(bytes, random)
    ends = Array.new(random.rand(6)) { random.rand(bytes.bytesize + 1) }.sort
    [0, *ends, bytes.bytesize].each_cons(2).map { |from, to| bytes[from...to] }
  end
end
