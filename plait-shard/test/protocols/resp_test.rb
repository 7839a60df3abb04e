# frozen_string_literal: true

require "test_helper"
require "plait/protocols/resp"
require_relative "resp_samples"

# The engine for replies as Ruby has it. What it makes of bytes is tested in test/c/resp_transcripts_test.rb.
class RESPTest < Minitest::Test
  RESP = Plait.const_get(:Protocols)::RESP

  def setup
    skip("there is no extension") unless RESP.const_defined?(:ReplyScanner)
  end

  def test_samples_break_rules_that_there_are
    assert_empty(RESPSamples::BROKEN_REPLIES.values.map(&:first) - RESP.const_get(:Rules)::ALL.keys)
  end

  def test_replies
    assert_equal([RESPSamples::REPLIES, :closed], told([RESPSamples::REPLIES.join]))
    assert_equal([RESPSamples::REPLIES, :closed], told(RESPSamples::REPLIES.join.chars))
    scanner = RESP::ReplyScanner.new.feed("%1\r\n+a\r\n:1\r\n")
    assert_equal([:reply, "%"], [scanner.next_event, scanner.type])
    assert_equal([nil, nil, nil], [scanner.next_event, scanner.type, scanner.bytes])
  end

  def test_broken_ones
    RESPSamples::BROKEN_REPLIES.each do |bytes, (rule, offset)|
      error = assert_raises(Plait::RemoteProtocolError, bytes.inspect) { told([bytes]) }
      assert_equal([rule, offset], [error.rule, error.offset], bytes.inspect)
    end
  end

  def test_errors_speak
    error = assert_raises(Plait::LimitExceeded) { told(["$536870913\r\n"]) }
    assert_equal([:bulk, 512 << 20], [error.limit, error.maximum])
    assert_raises(Plait::TruncatedError) { told(["$"]) }
  end

  def test_an_error_stays
    scanner = RESP::ReplyScanner.new.feed("+a\r\n?")
    assert_equal(:reply, scanner.next_event)
    2.times { assert_equal(:type, assert_raises(Plait::RemoteProtocolError) { scanner.next_event }.rule) }
  end

  def test_wrong_calls
    assert_raises(Plait::LocalProtocolError) { RESP::ReplyScanner.new.finish.feed("x") }
    assert_raises(Plait::LocalProtocolError) { RESP::ReplyScanner.new.send(:initialize) }
    assert_raises(TypeError) { RESP::ReplyScanner.new.feed(1) }
    assert_raises(ArgumentError) { RESP::ReplyScanner.allocate.feed("x") }
  end

  def test_under_gc_stress
    pieces = RESPSamples::REPLIES.first(6).join.scan(/.{1,7}/mn)
    GC.stress = true
    stressed = told(pieces)
    GC.stress = false
    assert_equal([RESPSamples::REPLIES.first(6), :closed], stressed)
  ensure
    GC.stress = false
  end

  private

  # @return [Array(Array<String>, Symbol)] the replies, and how it ended
  def told(pieces)
    scanner = RESP::ReplyScanner.new
    replies = pieces.flat_map { |piece| drain(scanner.feed(piece)) }
    [replies, scanner.finish.next_event]
  end

  def drain(scanner)
    replies = []
    replies << scanner.bytes while scanner.next_event == :reply
    replies
  end
end
