# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "msgpack"
require_relative "samples"
require_relative "writer_cases"

# Parser and writer where the extension is missing: the same messages, the same refusals of what is broken or too large.
class MessagePackRPCPureTest < Minitest::Test
  ENGINE = WriterCases::MessagePackRPC.const_get(:PureWriter)
  include WriterCases

  PARSER = WriterCases::MessagePackRPC.const_get(:PureParser)

  (Samples::GOOD + Samples::BAD).each_with_index do |sample, number|
    define_method(:"test_#{number}_#{sample.name.gsub(/\W+/, "_")}") do
      whole = transcript(sample, [sample.bytes])
      expected = sample.messages.map { |kind, id, method, error, value| [kind, id, method, plain(error), plain(value)] }
      assert_equal(expected, whole[:messages])
      sample.rule ? assert(whole[:rule]) : assert_equal([:closed, true], whole.values_at(:ended, :idle))
      assert_equal(whole, transcript(sample, sample.bytes.each_char))
      (1...sample.bytes.bytesize).step(3) do |at|
        assert_equal(whole, transcript(sample, [sample.bytes.byteslice(0, at), sample.bytes.byteslice(at..)]))
      end
    end
  end

  # Its end is found, and what comes behind it, however it is cut.
  def test_messages_over_a_limit_are_left_out
    deep = 30.times.inject(1) { |inner, n| n.odd? ? [inner, { "b" => n }] : [inner] }
    limits = [{ message: 100 }, { nesting: 3 }, { elements: 3 }, { method_name: 3 }]
    messages = [[0, 7, "name", [deep, "x" * 40]], [0, 7, "name", [["x" * 150, 1, 2, [[[]]]]]], [1, 7, nil, [deep, [1] * 50]]]
    limits.product(messages).each do |limit, message|
      next if limit.key?(:method_name) && message[0] == 1

      bytes = MessagePack.pack(message) + MessagePack.pack([1, 8, nil, 5])
      [1, 7, bytes.bytesize].each do |size|
        parser = parser(limit)
        told = bytes.bytes.each_slice(size).flat_map { |slice| excusing(parser.feed(slice.pack("C*"))) }
        assert_equal([[:excused, 7], [:discarded, 7], [:response, 8]], told, "#{limit} #{message}")
        assert_predicate(parser, :idle?)
      end
    end
  end

  def test_what_can_not_be_left_out
    ["\xC1".b, MessagePack.pack([1, 7, nil, [1] * 300]), MessagePack.pack(["x" * 300])].each do |bytes|
      parser = parser({ message: 100 }).feed(bytes)
      error = assert_raises(Plait::RemoteProtocolError) { excusing(parser) }
      assert_equal(error.rule, assert_raises(Plait::RemoteProtocolError) { parser.next_event }.rule)
      assert_equal(:request, parser.reset.feed("\x94\x00\x07\xA3add\x92\x01\x02").next_event)
    end
  end

  # Nothing of a message that is left out is kept.
  def test_what_is_left_out_takes_no_memory
    parser = parser({ elements: 10, message: 1 << 30 }).feed("\x94\x01\x01\xC0\xDC\xFF\xFF")
    assert_raises(Plait::LimitExceeded) { parser.next_event }
    assert(parser.excuse)
    100.times { assert_nil(parser.feed("\xA9ninebytes" * 100).next_event) }
    assert_operator(ObjectSpace.memsize_of(parser.instance_variable_get(:@buffer)), :<, 10_000) unless RUBY_ENGINE == "jruby"
  end

  def test_bytes
    assert_raises(TypeError) { parser.feed(nil) }
    assert_match(/after finish/, assert_raises(Plait::LocalProtocolError) { parser.finish.feed("x") }.message)
    names = parser.feed(["\xA7gr\xC3\xB6\xC3\x9Fe", "\xA1\xFF"].map { |name| "\x93\x02".b + name.b + "\x90".b }.join)
    assert_equal(["größe", "\xFF".b], Array.new(2) { names.next_event && names.method_name })
  end

  private

  def parser(limits = {}) = PARSER.new(limits: WriterCases::MessagePackRPC.limits(limits))

  def plain(packed) = packed && Reference.decode(packed)

  def transcript(sample, pieces)
    parser = parser(sample.limits)
    messages = []
    pieces.each { |piece| drain(parser.feed(piece), messages) }
    { messages: messages, ended: drain(parser.finish, messages), idle: parser.idle? }
  rescue Plait::RemoteProtocolError => e
    { messages: messages, rule: e.rule }
  end

  def drain(parser, messages)
    while (event = parser.next_event)
      return event if event == :closed

      messages << [event, parser.id, parser.method_name, plain(parser.error), plain(parser.params || parser.result)]
    end
  end

  def excusing(parser, told = [])
    while (event = parser.next_event)
      told << [event, parser.id]
    end
    told
  rescue Plait::LimitExceeded => e
    raise e unless parser.excuse

    excusing(parser, told << [:excused, parser.id])
  end
end
