# frozen_string_literal: true

require "objspace"
require "test_helper"
require "support/stressed"
require_relative "parser_cases"
require_relative "samples"

class MessagePackRPCNativeParserTest < Minitest::Test
  ENGINE = "native"
  include ParserCases
  include Stressed

  def setup
    skip("there is no extension") unless Transcript::PARSERS.key?("native")
  end

  def test_its_rules_are_those_of_ruby
    assert_equal(MessagePackRPC::NativeParser.rules, MessagePackRPC.const_get(:Rules)::ALL.transform_values(&:to_a))
  end

  def test_its_default_limits_are_those_of_ruby
    source = File.read(File.join(Support::ROOT, "plait-io/ext/plait_io/messagepack_rpc/messagepack_rpc_rules.c"))
    numbers = source.scan(/^    \.(\w+) = (.+),$/).to_h { |name, value| [name.to_sym, number(value)] }
    assert_equal(MessagePackRPC.const_get(:Limits)::DEFAULTS, numbers)
  end

  def test_under_gc_stress
    samples = enum_for(:some_samples, 60).map do |sample, whole|
      [sample.name, whole, [sample.bytes.scan(/.{1,7}/mn)], { limits: sample.limits, large: 4 }]
    end
    assert_right_under_stress(File.expand_path("transcript.rb", __dir__), samples)
  end

  def test_while_objects_move
    skip("this Ruby can't compact") unless GC.respond_to?(:compact)
    some_samples(15) do |sample, whole|
      assert_equal(whole, transcript(sample, moving(sample.bytes)), sample.name)
      assert_equal(whole, transcript(sample, moving(sample.bytes), append: true), sample.name)
    end
  end

  def test_what_is_being_received_survives_collections
    parser = build.feed("\x94\x01\x01\xC0\x92\xC6\x00\x02\x00\x00").tap(&:next_event)
    131_072.times.each_slice(10_000) do |slice|
      GC.start
      Array.new(1000) { "y" * 40 }
      parser.feed("x" * slice.size).next_event
    end
    GC.start
    assert_equal(:response, parser.feed("\x05").next_event)
    assert_equal("\xC6\x00\x02\x00\x00".b + ("x" * 131_072), parser.result.join[1...-1])
  end

  def test_nothing_is_allocated_for_what_is_not_asked
    parser = build
    bytes = ParserCases::CALL * 100
    parser.feed(bytes)
    count(parser)
    parser.feed(bytes)
    before = GC.stat(:total_allocated_objects)
    count(parser)
    assert_operator(GC.stat(:total_allocated_objects) - before, :<, 10)
  end

  def test_memory_is_told_and_given_back
    parser = build
    assert_operator(ObjectSpace.memsize_of(parser), :<, 400)
    parser.feed("\x93\x02\xA1m\x91").next_event
    assert_operator(ObjectSpace.memsize_of(parser), :>, 400)
    parser.feed("\x01").next_event
    parser.next_event
    assert_operator(ObjectSpace.memsize_of(parser), :<, 400)
  end

  def test_a_large_messages_memory_is_not_kept_for_small_ones
    parser = build.feed("\x94\x01\x01\xC0\xDD\x00\x03\x0D\x40".b + ("\x05".b * 200_000) + ANSWER[0, 3])
    parser.next_event
    assert_operator(memory_of_buffer(parser), :>, 200_000)
    parser.next_event
    assert_operator(memory_of_buffer(parser), :<, 1000)
    assert_equal([:response, "\x03".b], [parser.feed(ANSWER[3..]).next_event, parser.result])
  end

  def test_nothing_is_kept_between_messages
    parser = build.feed(CALL * 100)
    count(parser)
    assert_operator(memory_of_buffer(parser), :<, 100)
  end

  def test_a_handed_out_values_memory_is_its_own_from_then_on
    parser = build.feed("\x94\x01\x01\xC0\xDD\x00\x03\x0D\x40".b + ("\x05".b * 200_000)).tap(&:next_event)
    result = parser.result
    parser.next_event
    refute_includes(ObjectSpace.reachable_objects_from(parser), result)
    assert_operator(memory_of_buffer(parser), :<, 100)
    assert_equal(200_005, result.bytesize)
  end

  def test_one_that_was_never_initialized
    assert_raises(ArgumentError) { MessagePackRPC::NativeParser.allocate.next_event }
    assert_raises(ArgumentError) { MessagePackRPC::NativeParser.allocate.feed("x") }
  end

  def test_no_second_initialization
    assert_misuse(/initialized already/) { build.send(:initialize) }
  end

  private

  def memory_of_buffer(parser)
    ObjectSpace.reachable_objects_from(parser).grep(String).sum { |string| ObjectSpace.memsize_of(string) }
  end

  def count(parser)
    count = 0
    count += 1 while parser.next_event
    count
  end

  # A collection takes milliseconds.
  def some_samples(every)
    short = (Samples::GOOD + Samples::BAD).select { |sample| sample.bytes.bytesize < 60 }
    short.each_slice(every).map(&:first).each { |sample| yield(sample, transcript(sample, [sample.bytes])) }
  end

  # Pieces, and between them everything moves.
  def moving(bytes)
    Enumerator.new do |pieces|
      bytes.scan(/.{1,9}/mn) do |piece|
        GC.compact
        pieces << piece
      end
    end
  end

  def transcript(sample, pieces, **how) = Transcript.of("native", pieces, limits: sample.limits, large: 4, **how)

  def number(text) = text.include?("<<") ? Integer(text[/^\d+/]) << Integer(text[/\d+$/]) : Integer(text)
end
