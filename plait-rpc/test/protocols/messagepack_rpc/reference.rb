# frozen_string_literal: true

# MessagePack read by the table of its specification, one value after another, and nothing else: what the engines and the
# gem are compared with. A value with an extension in it has [:ext, type, payload].
class Reference
  # The input ended inside a value, or has a byte that begins none.
  class Unreadable < StandardError; end

  # @return [Object]
  # @raise [Unreadable] also for bytes behind the value
  def self.decode(bytes)
    reference = new(bytes)
    value = reference.value
    raise Unreadable, "bytes behind the value" unless reference.at == bytes.bytesize

    value
  end

  attr_reader :at

  def initialize(bytes)
    @bytes = bytes.b
    @at = 0
  end

  def value
    first = number("C", 1)
    case first
    when 0x00..0x7f then first
    when 0x80..0x8f then map(first & 15)
    when 0x90..0x9f then array(first & 15)
    when 0xa0..0xbf then text(first & 31)
    when 0xe0..0xff then first - 256
    else long(first)
    end
  end

  private

  NUMBERS = { 0xca => ["g", 4], 0xcb => ["G", 8], 0xcc => ["C", 1], 0xcd => ["S>", 2], 0xce => ["L>", 4], 0xcf => ["Q>", 8],
              0xd0 => ["c", 1], 0xd1 => ["s>", 2], 0xd2 => ["l>", 4], 0xd3 => ["q>", 8] }.freeze
  CONSTANTS = { 0xc0 => nil, 0xc2 => false, 0xc3 => true }.freeze
  private_constant :NUMBERS, :CONSTANTS

  def long(first)
    return CONSTANTS[first] if CONSTANTS.key?(first)
    return number(*NUMBERS[first]) if NUMBERS.key?(first)

    case first
    when 0xc4..0xc6 then take(size(first - 0xc4))
    when 0xc7..0xc9 then extension(size(first - 0xc7))
    when 0xd4..0xd8 then extension(1 << (first - 0xd4))
    when 0xd9..0xdb then text(size(first - 0xd9))
    when 0xdc, 0xdd then array(size(first - 0xdc + 1))
    when 0xde, 0xdf then map(size(first - 0xde + 1))
    else raise Unreadable, "0xc1"
    end
  end

  def size(power) = number(%w[C S> L>][power], 1 << power)

  def number(format, bytes) = take(bytes).unpack1(format)

  def take(size)
    raise Unreadable, "the end" if @at + size > @bytes.bytesize

    @at += size
    @bytes.byteslice(@at - size, size)
  end

  def text(size) = take(size).force_encoding(Encoding::UTF_8)

  # Each element is a byte at least: what can't be there is not even begun.
  def array(count)
    raise Unreadable, "the end" if count > @bytes.bytesize - @at

    Array.new(count) { value }
  end

  def map(count)
    raise Unreadable, "the end" if count > @bytes.bytesize - @at

    Array.new(count) { [value, value] }.to_h
  end

  def extension(size) = [:ext, number("c", 1), take(size)]
end
