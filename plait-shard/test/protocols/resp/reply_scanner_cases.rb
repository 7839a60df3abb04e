# frozen_string_literal: true

require_relative "transcript"

# What both engines do with replies; ENGINE names the one.
module ReplyScannerCases
  # Each is one reply.
  GOOD = ["+OK\r\n", "-ERR no\r\n", ":-12\r\n", "$-1\r\n", "$0\r\n\r\n", "$3\r\n\r\n\0\r\n", "*-1\r\n", "*0\r\n",
          "*2\r\n$1\r\na\r\n$-1\r\n", "*2\r\n*2\r\n:1\r\n*0\r\n+x\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n",
          "!5\r\nERR x\r\n", "=5\r\ntxt:x\r\n", "~1\r\n:1\r\n", "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", ">2\r\n+a\r\n+b\r\n",
          "|1\r\n+ttl\r\n:3\r\n*1\r\n|1\r\n+a\r\n+b\r\n$1\r\nx\r\n", "+a\nb\r\n"].map(&:b).freeze
  # Bytes => the rule they break, and where.
  BAD = {
    "x\r\n" => [:type, 0], "*1\r\n?" => [:type, 4], "+OK\rx" => [:line_end, 4], "$x\r\n" => [:bulk_length, 1],
    "$\r\n" => [:bulk_length, 1], "$-2\r\n" => [:bulk_length, 3], "%-1\r\n" => [:length, 3], "*1x" => [:length, 2],
    "$1\rx" => [:line_end, 3], "$1\r\nab" => [:bulk_end, 5], "$1\r\na\rb" => [:bulk_end, 6],
    "$536870913\r\n" => [:bulk_limit, 11], "*1073741825\r\n" => [:elements_limit, 12],
    "*2\r\n+a\r\n" => [:truncated, 8], "$" => [:truncated, 1]
  }.transform_keys(&:b).freeze

  def test_replies
    GOOD.each do |bytes|
      assert_equal({ told: [[bytes[0], bytes]], ended: :closed }, replies([bytes]), bytes.inspect)
    end
    assert_equal(GOOD, replies([GOOD.join])[:told].map(&:last))
  end

  def test_broken_ones
    BAD.each { |bytes, error| assert_equal(error, replies([bytes])[:error], bytes.inspect) }
  end

  def test_every_cut
    (GOOD + BAD.keys).each do |bytes|
      whole = replies([bytes])
      (1...bytes.bytesize).each { |at| assert_equal(whole, replies([bytes[0, at], bytes[at..]]), "#{bytes.inspect} at #{at}") }
      assert_equal(whole, replies(bytes.chars), bytes.inspect)
    end
  end

  def test_limits
    assert_equal([:bulk_limit, 3], replies(["$9\r\n"], bulk: 8)[:error])
    assert_equal([:elements_limit, 3], replies(["%3\r\n"], elements: 5)[:error])
    assert_equal([:elements_limit, 7], replies(["*3\r\n*3\r\n"], elements: 5)[:error])
  end

  def test_100_000_levels
    bytes = "#{"*1\r\n" * 100_000}:1\r\n"
    assert_equal(bytes.bytesize, replies([bytes])[:told].dig(0, 1).bytesize)
  end

  def test_an_error_stays
    scanner = RESPTranscript::REPLIES.fetch(self.class::ENGINE).new.feed("+a\r\n?")
    assert_equal(:reply, scanner.next_event)
    2.times { assert_equal(:type, assert_raises(Plait::RemoteProtocolError) { scanner.next_event }.rule) }
  end

  private

  def replies(pieces, **limits) = RESPTranscript.replies(self.class::ENGINE, pieces, **limits)
end
