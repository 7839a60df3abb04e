# frozen_string_literal: true

require "test_helper"
require "support/conformance/http1_responses"
require_relative "transcript"

# The engine against its twin, on mutated and random bytes, cut at random. Reproducible: PLAIT_SEED=the seed of the message.
class HTTP1DifferentialTest < Minitest::Test
  SAMPLES = Conformance::HTTP1_RESPONSES
  ROUNDS = Integer(ENV.fetch("PLAIT_ROUNDS", "4000"))
  SEED = Integer(ENV.fetch("PLAIT_SEED", "20"))
  # What parsers stumble over.
  BITS = ["\r\n", "\r", "\n", "\0", " ", "\t", ":", ",", ";", "=", "\"", "\\", "0", "5", "f", "F", "x", "-", "+", "\x7F", "\xE9",
          "chunked", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "Host: a\r\n",
          "HTTP/1.1", "0\r\n\r\n", "1\r\na\r\n", "\r\n\r\n", "18446744073709551616", "100 ", "204 ", "304 "].map(&:b).freeze
  LIMITS = { body: [5, 1 << 20, nil], start_line: [20, 8192], head: [60, 65_536], headers: [2, 128], interim: [1, 32],
             chunk_extensions: [4, 16_384], trailer: [10, 16_384] }.freeze

  def setup
    skip("there is no extension: nothing to compare") unless Transcript::ENGINES.key?("native")
  end

  def test_mutated_samples
    ROUNDS.times do |round|
      random = Random.new(SEED + round)
      compare(round, random, mutate(SAMPLES.sample(random: random).bytes, random))
    end
  end

  def test_random_bits
    ROUNDS.times do |round|
      random = Random.new(SEED + ROUNDS + round)
      start = ["HTTP/1.1 200 OK\r\n", ""].sample(random: random)
      compare(ROUNDS + round, random, start.b + Array.new(random.rand(30)) { BITS.sample(random: random) }.join)
    end
  end

  def test_random_chunks
    ROUNDS.times do |round|
      random = Random.new(SEED + (2 * ROUNDS) + round)
      head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".b
      compare((2 * ROUNDS) + round, random, head + mutate(chunks(random), random))
    end
  end

  private

  def chunks(random)
    body = Array.new(random.rand(5)) do
      data = random.bytes(random.rand(1..40))
      "#{data.bytesize.to_s(16)}#{[";a=b", ";c=\"d\"", "", ""].sample(random: random)}\r\n".b + data + "\r\n"
    end
    "#{body.join}0\r\n#{["", "A: b\r\n", "A: b\r\nC: d\r\n"].sample(random: random)}\r\n".b
  end

  def mutate(bytes, random)
    bytes = bytes.dup
    random.rand(4).times do
      at = random.rand(bytes.bytesize + 1)
      case random.rand(4)
      when 0 then bytes.insert(at, BITS.sample(random: random))
      when 1 then bytes[at, random.rand(1..4)] = "" if at < bytes.bytesize
      when 2 then bytes.setbyte(at, random.rand(256)) if at < bytes.bytesize
      else bytes[at, 1] = BITS.sample(random: random) if at < bytes.bytesize
      end
    end
    bytes
  end

  def compare(round, random, bytes)
    how = { request: request(random), eof: random.rand(2).zero?, limits: limits(random) }
    pieces = cut(bytes, random)
    native, pure = %w[native pure].map { |engine| Transcript.of(engine, pieces, **how) }
    assert_equal(pure, native, "PLAIT_SEED=#{SEED + round} #{pieces.inspect} #{how}")
    assert_equal(native, Transcript.of("native", [bytes], **how), "PLAIT_SEED=#{SEED + round}: cut or whole")
  end

  def request(random)
    { method: %w[GET GET HEAD CONNECT].sample(random: random), upgrade: random.rand(2).zero? }
  end

  def limits(random)
    lenient = { lenient: random.rand(2).zero? }
    return lenient unless random.rand(3).zero?

    LIMITS.transform_values { |values| values.sample(random: random) }.merge(lenient)
  end

  def cut(bytes, random)
    ends = Array.new(random.rand(4)) { random.rand(bytes.bytesize + 1) }.sort
    [0, *ends, bytes.bytesize].each_cons(2).map { |from, to| bytes[from...to] }
  end
end
