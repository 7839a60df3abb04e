# frozen_string_literal: true

require "test_helper"
require_relative "command_parser_cases"
require_relative "reply_scanner_cases"

# The engine against its twin on random and mutated bytes, cut at random. Reproducible: PLAIT_SEED=the seed of the message.
class RESPDifferentialTest < Minitest::Test
  ROUNDS = Integer(ENV.fetch("PLAIT_ROUNDS", "3000"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "30"))
  BITS = ["\r\n", "*1\r\n", "*2\r\n", "$1\r\n", "$-1\r\n", "%1\r\n", "|1\r\n", "\"", "'", "\\", " ", "0", "-", "\0",
          "99999999999999999"].freeze
  LIMITS = [{}, {}, { bulk: 5 }, { arguments: 2, elements: 3 }, { line: 12 }, { command: 40 }].freeze

  def setup
    skip("there is no extension") unless RESPTranscript::COMMANDS.key?("native")
  end

  def test_commands
    samples = CommandParserCases::GOOD.keys + CommandParserCases::BAD.keys.reject { |bytes| bytes.bytesize > 100 }
    rounds(0) { |random| compare(:commands, samples, random) }
  end

  def test_replies
    samples = ReplyScannerCases::GOOD + ReplyScannerCases::BAD.keys
    rounds(1) { |random| compare(:replies, samples, random) }
  end

  # What redis-server takes apart as Plait does.
  def test_random_lines
    rounds(2) do |random|
      bytes = "#{Array.new(random.rand(12)) { (BITS + %w[a b x41 n]).sample(random: random) }.join}\n".b
      assert_equal(*%w[pure native].map { |engine| RESPTranscript.commands(engine, [bytes]) }, bytes.inspect)
    end
  end

  private

  def rounds(kind)
    ROUNDS.times do |round|
      @seed = SEED + round
      yield(Random.new((@seed * 10) + kind))
    end
  end

  def compare(kind, samples, random)
    bytes = mutate(Array.new(random.rand(1..3)) { samples.sample(random: random) }.join, random)
    limits = LIMITS.sample(random: random)
    whole = RESPTranscript.public_send(kind, "pure", [bytes], **limits)
    pieces = bytes.scan(/.{1,#{random.rand(1..9)}}/mn)
    %w[native pure].each do |engine|
      assert_equal(whole, RESPTranscript.public_send(kind, engine, pieces, **limits), "PLAIT_SEED=#{@seed} #{bytes.inspect}")
    end
    assert_equal(whole, RESPTranscript.public_send(kind, "native", [bytes], **limits), "PLAIT_SEED=#{@seed}")
  end

  def mutate(bytes, random)
    random.rand(4).times { bytes = mutate_once(bytes, random.rand(bytes.bytesize + 1), random) }
    bytes
  end

  def mutate_once(bytes, place, random)
    before = bytes.byteslice(0, place)
    behind = bytes.byteslice(place..)
    case random.rand(4)
    when 0 then before
    when 1 then before + behind.byteslice(1..).to_s
    when 2 then before + random.bytes(1) + behind.byteslice(1..).to_s
    else before + BITS.sample(random: random) + behind
    end
  end
end
