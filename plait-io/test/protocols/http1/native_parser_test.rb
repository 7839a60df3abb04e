# frozen_string_literal: true

require "objspace"
require "test_helper"
require "support/conformance/http1_responses"
require "support/stressed"
require_relative "parser_cases"

class HTTP1NativeParserTest < Minitest::Test
  ENGINE = "native"
  include ParserCases
  include Stressed

  HTTP1 = Transcript::HTTP1
  SAMPLES = Conformance::HTTP1_RESPONSES

  def setup
    skip("there is no extension") unless Transcript::ENGINES.key?("native")
  end

  def test_its_rules_are_those_of_ruby
    assert_equal(HTTP1::NativeParser.rules, HTTP1::Rules::ALL.transform_values(&:to_a))
  end

  def test_its_default_limits_are_those_of_ruby
    source = File.read(File.join(Support::ROOT, "plait-io/ext/plait_io/http1/http1_rules.c"))
    numbers = source.scan(/^    \.(\w+) = (.+),$/).to_h { |name, value| [name.to_sym, product(value)] }
    assert_equal(HTTP1::Limits::DEFAULTS, numbers)
  end

  def test_under_gc_stress
    samples = enum_for(:some_samples).map do |sample, whole|
      options = { request: sample.request, limits: sample.limits, eof: sample.eof }
      [sample.name, whole, [sample.bytes.scan(/.{1,20}/mn)], options]
    end
    assert_right_under_stress(File.expand_path("transcript.rb", __dir__), samples)
  end

  def test_while_objects_move
    skip("this Ruby can't compact") unless GC.respond_to?(:compact)
    some_samples do |sample, whole|
      parser = Transcript::CLASSES["native"].new(limits: HTTP1::Limits.new(**sample.limits)).start(**sample.request)
      assert_equal(whole, Transcript.read(parser, moving(sample.bytes), sample.eof), sample.name)
    end
  end

  def test_what_an_event_told_is_kept
    parser = responses.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n")
    assert_equal(%i[head trailers done], events(parser))
    GC.start
    Array.new(1000) { [Object.new] }
    assert_equal([%w[A b]], parser.trailers)
    assert_equal(["Transfer-Encoding"], parser.head.map(&:first))
  end

  def test_a_head_outlives_its_parser
    heads = Array.new(100) { |number| head_of("HTTP/1.1 200 OK\r\nX-Number: #{number}\r\n\r\n") }
    GC.start
    assert_equal(Array.new(100, &:to_s), heads.map { |head| head["x-number"] })
  end

  def test_memory_is_told
    parser = Class.new(HTTP1::NativeParser) { include HTTP1::Responses }.new
    assert_operator(ObjectSpace.memsize_of(parser), :>, 128 * 16)
    assert_operator(ObjectSpace.memsize_of(head_of("HTTP/1.1 200 OK\r\nA: b\r\n\r\n")), :<, 400)
  end

  def test_one_that_was_never_initialized
    assert_raises(ArgumentError) { HTTP1::NativeParser.allocate.next_event }
    assert_raises(TypeError) { HTTP1::NativeHead.allocate }
  end

  def test_no_second_initialization
    parser = responses
    assert_misuse(/initialized already/) { parser.send(:initialize) }
  end

  private

  # A collection takes milliseconds: a few samples of each kind, and those with parts that are kept from event to event.
  def some_samples
    some = SAMPLES.each_slice(60).map(&:first) | SAMPLES.select { |sample| sample.expected.key?(:trailers) }
    some.shuffle.each { |sample| yield(sample, transcript(sample, [sample.bytes])) }
  end

  # Pieces, and between them everything moves.
  def moving(bytes)
    Enumerator.new do |pieces|
      bytes.scan(/.{1,16}/mn) do |piece|
        GC.compact
        pieces << piece
      end
    end
  end

  def transcript(sample, pieces)
    Transcript.of("native", pieces, request: sample.request, limits: sample.limits, eof: sample.eof)
  end

  def head_of(bytes) = responses.feed(bytes).tap(&:next_event).head

  def product(text) = text.include?("<<") ? 1 << text[/\d+$/].to_i : text.split("*").map(&:to_i).inject(:*)
end
