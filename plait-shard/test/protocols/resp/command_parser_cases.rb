# frozen_string_literal: true

require_relative "transcript"

# What both engines do with commands; ENGINE names the one.
module CommandParserCases
  RESP = Plait::Protocols::RESP
  # Bytes => the commands in them.
  GOOD = {
    "*1\r\n$4\r\nPING\r\n" => [%w[PING]],
    "*2\r\n$3\r\nGET\r\n$0\r\n\r\n" => [["GET", ""]],
    "*2\r\n$3\r\nGET\r\n$4\r\n\r\n\0*\r\n" => [%W[GET \r\n\0*]],
    "*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n" => [%w[a], %w[b]],
    "*0\r\n*-1\r\n\r\n  \r\n*1\r\n$1\r\na\r\n" => [%w[a]],
    "*11\r\n#{"$1\r\nx\r\n" * 11}" => [["x"] * 11],
    "PING\r\n" => [%w[PING]],
    "SET  k\t\"a \\x41\\n\\q\\\"\" 'it\\'s \\n'\n" => [["SET", "k", "a A\nq\"", "it's \\n"]],
    "ECHO \"\" ''\r\nECHO a\"b c\"\r\n" => [["ECHO", "", ""], ["ECHO", "ab c"]],
    "GET a\0 \"\r\n" => [%w[GET a]]
  }.transform_keys(&:b).freeze
  # Bytes => the rule they break, and where.
  BAD = {
    "*x\r\n" => [:count, 1], "*\r\n" => [:count, 1], "*01\r\n" => [:count, 2], "*-0\r\n" => [:count, 2], "*1\rx" => [:count, 3],
    "*1234567890123456789\r\n" => [:count, 19], "*1048577\r\n" => [:arguments_limit, 1],
    "*1\r\n:1\r\n" => [:dollar, 4], "*1\r\n$-1\r\n" => [:bulk_length, 5], "*1\r\n$1a\r\n" => [:bulk_length, 6],
    "*1\r\n$03\r\nabc\r\n" => [:bulk_length, 6], "*1\r\n$4294967296\r\n" => [:bulk_limit, 5],
    "*1\r\n$1\r\nab\r\n" => [:bulk_end, 9], "*1\r\n$1\r\na\rb" => [:bulk_end, 10],
    "GET \"a\r\n" => [:quotes, 0], "GET 'a'b\r\n" => [:quotes, 0], "#{"a" * 70_000}\n" => [:line_limit, 65_536],
    "*2\r\n$1\r\na\r\n" => [:truncated, 11], "GET a" => [:truncated, 5], "*" => [:truncated, 1]
  }.transform_keys(&:b).freeze

  def test_commands
    GOOD.each do |bytes, words|
      seen = commands([bytes])
      assert_equal([words, :closed], [seen[:told].map(&:first), seen[:ended]], bytes.inspect)
    end
  end

  def test_broken_ones
    BAD.each { |bytes, error| assert_equal(error, commands([bytes])[:error], bytes[0, 40].inspect) }
  end

  def test_every_cut
    (GOOD.keys + BAD.keys).select { |bytes| bytes.bytesize < 100 }.each do |bytes|
      whole = commands([bytes])
      (1...bytes.bytesize).each { |at| assert_equal(whole, commands([bytes[0, at], bytes[at..]]), "#{bytes.inspect} at #{at}") }
      assert_equal(whole, commands(bytes.chars), bytes.inspect)
    end
  end

  def test_limits
    long = RESPTranscript.command("SET", "k", "v" * 100)
    assert_equal([:bulk_limit, 21], commands([long], bulk: 99)[:error])
    assert_equal([:command_limit, 21], commands([long], command: 100)[:error])
    assert_equal([:arguments_limit, 1], commands([long], arguments: 2)[:error])
    assert_equal([:line_limit, 5], commands(["abcde\n"], line: 5)[:error])
    assert_equal(["abcd"], commands(["abcd\n"], line: 5)[:told].dig(0, 0))
  end

  def test_an_error_stays
    parser = engine.new.feed("*x")
    2.times { assert_equal(:count, assert_raises(Plait::RemoteProtocolError) { parser.next_event }.rule) }
    parser.feed("\r\n")
    assert_raises(Plait::RemoteProtocolError) { parser.next_event }
  end

  def test_what_was_told_and_how_long_it_was
    parser = engine.new.feed("*1\r\n$4\r\nPING\r\nGET a\r\n*")
    assert_equal([:command, %w[PING], 14], [parser.next_event, parser.arguments, parser.bytesize])
    assert_equal(Encoding::BINARY, parser.arguments.first.encoding)
    assert_equal([:command, %w[GET a], 7], [parser.next_event, parser.arguments, parser.bytesize])
    assert_equal([nil, nil, nil], [parser.next_event, parser.arguments, parser.bytesize])
  end

  def test_wrong_calls
    assert_raises(Plait::LocalProtocolError) { engine.new.finish.feed("x") }
    assert_raises(TypeError) { engine.new.feed(1) }
    assert_raises(ArgumentError) { engine.new(limit: 1) }
  end

  def test_a_long_value_in_small_pieces_takes_linear_time
    bytes = RESPTranscript.command("SET", "k", "v" * 1_000_000)
    assert_equal(1, commands(bytes.scan(/.{1,10000}/mn))[:told].size)
  end

  private

  def engine = RESPTranscript::COMMANDS.fetch(self.class::ENGINE)

  def commands(pieces, **limits) = RESPTranscript.commands(self.class::ENGINE, pieces, **limits)
end
