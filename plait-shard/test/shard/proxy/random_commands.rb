# frozen_string_literal: true

# Commands whose replies are the same on one server and on several.
class RandomCommands
  KEYS = 30
  KINDS = %i[set set get get mget mset count append push range increase odd echo part].freeze
  SIZES = [0, 1, 3, 60, 500, 1023, 1024, 1025, 5000, 40_000, 300_000].freeze

  # Of a pipeline what names no key that something before it names. Two commands for a key whose slot is on its way may be done in
  # the other order unless the second waits for the answer of the first, see guides/shard.md.
  # @param commands [Array<Array<String>>]
  # @return [Array<Array<String>>]
  def self.apart(commands)
    named = []
    commands.select do |words|
      keys = keys_of(words)
      named.concat(keys) unless keys.intersect?(named)
    end
  end

  def self.keys_of(words)
    case words[0]
    when "MSET" then words.drop(1).each_slice(2).map(&:first)
    when "MGET", "DEL", "UNLINK", "EXISTS", "TOUCH" then words.drop(1)
    else words[1, 1]
    end
  end
  private_class_method :keys_of

  def initialize(seed, prefix: "")
    @random = Random.new(seed)
    @prefix = prefix
  end

  # @return [Array<Array<String>>] a pipeline
  def commands = Array.new(1 + @random.rand(20)) { command }

  # @return [Array<String>]
  def pieces(bytes)
    return [bytes] if @random.rand(2).zero?

    at = 0
    pieces = []
    while at < bytes.bytesize
      size = 1 + @random.rand([10, 200, 20_000, 400_000].sample(random: @random))
      pieces << bytes.byteslice(at, size)
      at += size
    end
    pieces.size > 300 ? [bytes] : pieces
  end

  def set = ["SET", key, value]

  def get = ["GET", key]

  def mget = ["MGET", *keys]

  def mset = ["MSET", *keys.flat_map { |name| [name, value] }]

  def count = [%w[DEL UNLINK EXISTS TOUCH].sample(random: @random), *keys]

  def append = ["APPEND", key, "x" * @random.rand(50)]

  def push = ["LPUSH", "#{key}l", value(4), value(4)]

  def range = ["LRANGE", "#{key}l", "0", "20"]

  def increase = ["INCR", "#{key}n"]

  def odd = [%w[PING STRLEN NONSENSE get].sample(random: @random), *(key if @random.rand(3).positive?)]

  def echo = ["ECHO", value(5)]

  def part = ["GETRANGE", key, "0", @random.rand(2000).to_s]

  private

  def command = public_send(KINDS.sample(random: @random))

  def key
    suffix = @random.rand(20).zero? ? "{tag}" : ""
    "#{@prefix}#{@random.rand(KEYS)}#{suffix}"
  end

  def keys = Array.new(1 + @random.rand(12)) { key }

  def value(largest = SIZES.size)
    size = SIZES[[@random.rand(largest), @random.rand(largest)].min]
    size > 2000 ? "#{@random.rand(1000)}\r\n" * (size / 5) : @random.bytes(size)
  end
end
