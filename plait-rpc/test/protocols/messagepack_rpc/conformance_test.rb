# frozen_string_literal: true

require "test_helper"
require_relative "samples"
require_relative "transcript"

# Each sample of the tables: right as a whole, and the same byte by byte and at every split, with strings taken out of it
# or not.
class MessagePackRPCConformanceTest < Minitest::Test
  # Bytes from which on a string is large: usual ones, and so few that nearly each one is.
  LARGE = [64 * 1024, 5, 1].freeze

  Transcript::PARSERS.each_key do |engine|
    (Samples::GOOD + Samples::BAD).each_with_index do |sample, number|
      define_method(:"test_#{engine}_#{number}_#{sample.name.gsub(/\W+/, "_")}") { check(engine, sample) }
    end
  end

  def test_the_tables_are_as_large_as_they_should_be
    assert_operator(Samples::GOOD.size, :>=, 230)
    assert_operator(Samples::BAD.size, :>=, 90)
  end

  def test_each_rule_is_broken_by_a_sample
    assert_empty(Plait.const_get(:Protocols)::MessagePackRPC.const_get(:Rules)::ALL.keys - Samples::BAD.map(&:rule))
  end

  def test_each_first_byte_begins_a_value_of_the_table
    firsts = PackedValues::ALL.values.map { |packed| packed.getbyte(0) }
    missing = [*0xc0..0xdf] - firsts - [0xc1]
    assert_empty(missing.map { |byte| byte.to_s(16) })
  end

  private

  def check(engine, sample)
    whole = transcript(engine, sample, [sample.bytes])
    sample.rule ? assert_broken(sample, whole) : assert_right(whole)
    assert_equal(expected(sample), whole[:messages].map { |message| message[0, 5] })
    LARGE.product([false, true]).each do |large, append|
      how = { large: large, append: append }
      assert_equal(whole, transcript(engine, sample, [sample.bytes], **how), "whole, #{how}")
      assert_equal(whole, transcript(engine, sample, sample.bytes.each_char, **how), "byte by byte, #{how}")
      splits(sample.bytes) { |pieces| assert_equal(whole, transcript(engine, sample, pieces, **how), "#{pieces} #{how}") }
    end
  end

  # All of them, and of long samples those in which something happens.
  def splits(bytes)
    bytes.bytesize.times do |at|
      yield([bytes.byteslice(0, at), bytes.byteslice(at..)]) if at < 64 || at > bytes.bytesize - 8
    end
  end

  def transcript(engine, sample, pieces, **how) = Transcript.of(engine, pieces, limits: sample.limits, **how)

  def expected(sample)
    sample.messages.map { |kind, id, method, error, value| [kind, id, method, plain(error), plain(value)] }
  end

  def plain(packed) = packed && Reference.decode(packed)

  def assert_broken(sample, transcript)
    assert_equal([sample.rule, sample.offset - before(sample)], transcript[:error], transcript.inspect)
  end

  # Offsets count from the message.
  def before(sample)
    return 0 if sample.messages.empty?

    reference = Reference.new(sample.bytes)
    sample.messages.each { reference.value }
    reference.at
  end

  def assert_right(transcript)
    assert_nil(transcript[:error])
    assert_equal([:closed, true], transcript.values_at(:ended, :idle))
  end
end
