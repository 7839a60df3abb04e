# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "reference"
require "plait/protocols/messagepack_rpc/codec"

class MessagePackRPCSkeletonTest < Minitest::Test
  Skeleton = Plait.const_get(:Protocols)::MessagePackRPC.const_get(:Skeleton)

  def test_it_is_joined_with_the_shortest_header_there_is
    { 5 => 2, 31 => 2, 32 => 2, 255 => 2, 256 => 3, 65_535 => 3, 65_536 => 5 }.each do |size, header|
      [("a" * size).b, "a" * size].each do |body|
        joined = skeleton([body]).join
        assert_equal([1 + header + size + 1, Encoding::BINARY], [joined.bytesize, joined.encoding])
        assert_equal([[body, 7], body.encoding], [Reference.decode(joined), Reference.decode(joined).first.encoding])
      end
    end
  end

  def test_of_several
    bytes = "\x93".b + mark(1) + mark(2) + mark(4)
    skeleton = Skeleton.new(bytes, %w[zero one two three four], [1, 7, 13], false)
    assert_equal(%w[one two four], Reference.decode(skeleton.join))
    assert_equal("three", skeleton.body_of("\0\0\0\3"))
    assert_raises(IndexError) { skeleton.body_of("\0\0\0\5") }
  end

  def test_of_a_string_alone
    assert_equal("ten", Skeleton.new(mark(0), ["ten"], [0], false).body)
    assert_nil(skeleton(["ten"]).body)
  end

  private

  # [a large string, 7]
  def skeleton(bodies) = Skeleton.new("\x92".b + mark(0) + "\x07", bodies, [1], false)

  def mark(number) = [0xd6, 0x80, number].pack("CCN")
end
