# frozen_string_literal: true

require "test_helper"
require "support/sanitized"
require_relative "../protocols/resp_samples"

# Commands and replies through the engine, under ASan and UBSan: right as a whole, and the same at every cut.
class RESPTranscriptsTest < Minitest::Test
  def hard_timeout = super + Sanitized::BUILDING

  # In the order of struct resp_limits.
  LIMITS = { bulk: 512 << 20, command: 1 << 30, elements: 1 << 30, arguments: 1 << 20, line: 64 << 10 }.freeze

  def test_default_limits
    source = File.read(File.join(Support::ROOT, "plait-shard/ext/plait_shard/resp/resp_rules.c"))
    numbers = source.scan(/^    \.(\w+) = (\d+)(?:ULL|U)?(?: << (\d+))?,$/).to_h do |name, value, by|
      [name.to_sym, value.to_i << by.to_i]
    end
    assert_equal(LIMITS, numbers)
  end

  def test_commands
    samples = RESPSamples::COMMANDS
    told = transcripts(samples.keys.map { |bytes| [0, bytes, {}] })
    samples.zip(told) do |(bytes, words), lines|
      commands = lines[0...-1].map { |_, _, *digits| digits.map { |word| [word].pack("H*") } }
      assert_equal([words.map { |list| list.map(&:b) }, ["closed"]], [commands, lines.last], bytes.inspect)
    end
  end

  def test_how_long_commands_were
    lines = transcripts([[0, "*1\r\n$4\r\nPING\r\nGET a\r\n*", {}]]).first
    assert_equal([%w[command 14], %w[command 7], %w[error truncated]], lines.map { |line| line.first(2) })
  end

  def test_broken_commands = assert_broken(0, RESPSamples::BROKEN_COMMANDS)

  def test_limits_of_commands
    long = RESPSamples.command("SET", "k", "v" * 100)
    assert_equal([%w[bulk_limit 21], %w[command_limit 21], %w[arguments_limit 1], %w[line_limit 5]],
                 errors([[0, long, { bulk: 99 }], [0, long, { command: 100 }], [0, long, { arguments: 2 }],
                         [0, "abcde\n", { line: 5 }]]))
    assert_equal(%w[command 5 61626364], transcripts([[0, "abcd\n", { line: 5 }]]).dig(0, 0))
  end

  def test_a_long_value_in_small_pieces
    bytes = RESPSamples.command("SET", "k", "v" * 1_000_000)
    assert_equal(["command", bytes.bytesize.to_s], transcripts([[0, bytes, {}]]).dig(0, 0).first(2))
  end

  def test_replies
    samples = RESPSamples::REPLIES
    transcripts(samples.map { |bytes| [1, bytes, {}] }).zip(samples) do |lines, bytes|
      assert_equal([["reply", bytes[0], bytes.bytesize.to_s], ["closed"]], lines, bytes.inspect)
    end
    sizes = transcripts([[1, samples.join, {}]]).first.filter_map { |_, _, size| size&.to_i }
    assert_equal(samples.map(&:bytesize), sizes)
  end

  def test_broken_replies = assert_broken(1, RESPSamples::BROKEN_REPLIES)

  def test_limits_of_replies
    assert_equal([%w[bulk_limit 3], %w[elements_limit 3], %w[elements_limit 7]],
                 errors([[1, "$9\r\n", { bulk: 8 }], [1, "%3\r\n", { elements: 5 }], [1, "*3\r\n*3\r\n", { elements: 5 }]]))
  end

  def test_100_000_levels
    bytes = "#{"*1\r\n" * 100_000}:1\r\n"
    assert_equal(["reply", "*", bytes.bytesize.to_s], transcripts([[1, bytes, {}]]).dig(0, 0))
  end

  private

  def assert_broken(kind, samples)
    told = errors(samples.keys.map { |bytes| [kind, bytes, {}] })
    samples.zip(told) { |(bytes, (rule, at)), error| assert_equal([rule.to_s, at.to_s], error, bytes[0, 40].inspect) }
  end

  def errors(samples) = transcripts(samples).map { |lines| lines.assoc("error")&.drop(1) }

  # @param samples [Array<Array(Integer, String, Hash)>] whether they are replies, the bytes, and limits that differ
  # @return [Array<Array<Array<String>>>] for each sample the words of its lines
  def transcripts(samples)
    Sanitized.build(File.join(__dir__, "resp_transcripts.c"), "resp") do |program|
      corpus = File.join(File.dirname(program), "corpus")
      File.binwrite(corpus, samples.map { |kind, bytes, limits| entry(kind, bytes, LIMITS.merge(limits)) }.join)
      texts = Sanitized.run(program, corpus).split("\n\n")
      texts.map { |text| text.lines(chomp: true).map { |line| line.split(/ /, -1) } }
    end
  end

  def entry(kind, bytes, limits) = "#{[kind, *limits.values, bytes.bytesize].join(" ")}\n".b << bytes.b << "\n"
end
