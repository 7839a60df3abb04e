# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "msgpack"
require "support/fresh_ruby"
require_relative "transcript"

class MessagePackRPCCodecTest < Minitest::Test
  MessagePackRPC = Plait.const_get(:Protocols)::MessagePackRPC
  Codec = MessagePackRPC::Codec

  Point = Struct.new(:x, :y) do
    def pack = [x, y].pack("NN")

    def self.unpack(payload) = new(*payload.unpack("NN"))
  end

  def setup
    Codec.new
  rescue Plait::UnsupportedError => e
    skip(e.message)
  end

  def test_there_and_back
    [nil, true, false, 0, -1, (1 << 64) - 1, -(1 << 63), 1.5, "", "text", "größe", "\xFF\x00".b, [], [1, [2, [3]]], {},
     { "a" => { "b" => [nil] } }, { 1 => 2 }].each do |value|
      packed = codec.pack(value)
      assert_equal([value], [codec.unpack(packed)])
      assert_equal([value], [Reference.decode(packed)])
    end
    assert_equal("symbol", codec.unpack(codec.pack(:symbol)))
  end

  def test_encodings
    assert_equal([Encoding::UTF_8, Encoding::BINARY], codec.unpack(codec.pack(["é", "é".b])).map(&:encoding))
    assert_equal("é", codec.unpack(codec.pack("é".encode("ISO-8859-1"))))
  end

  def test_large_strings_are_not_copied
    large = "x".b * 100_000
    packed = codec.pack(["a", large, "b"])
    skip("this Ruby's packer copies") if packed.is_a?(String)
    assert_equal([8, 100_000, 2], packed.map(&:bytesize))
    assert_equal(["a", large, "b"], codec.unpack(packed))
    large << "y"
    assert_equal(100_000, packed[1].bytesize)
  end

  def test_raw_for_old_peers
    packed = codec(raw: true).pack(["a" * 40, "\xFF".b * 40])
    assert_equal("\x92\xDA\x00\x28".b + ("a" * 40) + "\xDA\x00\x28".b + ("\xFF".b * 40), packed)
    assert_equal("\x92\xD9\x28".b, codec.pack(["a" * 40, ""])[0, 3])
  end

  def test_symbols_as_keys
    assert_equal({ a: { b: "c" } }, codec(symbolize_keys: true).unpack(codec.pack({ "a" => { "b" => "c" } })))
  end

  def test_extension_types
    with_points = codec { |factory| factory.register_type(7, Point, packer: :pack, unpacker: :unpack) }
    packed = with_points.pack([Point.new(1, 2)])
    assert_equal([[:ext, 7, "\0\0\0\1\0\0\0\2"]], Reference.decode(packed))
    assert_equal([Point.new(1, 2)], with_points.unpack(packed))
  end

  def test_types_are_of_one_codec
    codec { |factory| factory.register_type(7, Point, packer: :pack, unpacker: :unpack) }
    assert_raises(MessagePackRPC::PackError) { codec.pack(Point.new(1, 2)) }
  end

  def test_a_factory
    factory = MessagePack::Factory.new
    factory.register_type(7, Point, packer: :pack, unpacker: :unpack)
    from_factory = codec(factory: factory) { |copy| copy.register_type(8, Symbol) }
    assert_equal([Point.new(1, 2), :a], from_factory.unpack(from_factory.pack([Point.new(1, 2), :a])))
    refute(factory.type_registered?(8))
    refute_predicate(factory, :frozen?)
  end

  def test_unknown_types_come_as_they_are
    value = codec.unpack("\xD4\x05a".b)
    assert_equal([5, "a"], [value.type, value.payload])
    assert_equal("\xD4\x05a".b, codec.pack(value))
  end

  def test_what_has_no_form
    { Object.new => /Object has no form in MessagePack: register/,
      [{ "a" => Object.new }] => /value of Array .*: Object has no form/, 1 << 64 => /Integer can't be packed: .*big/,
      "\xFF".dup.force_encoding("EUC-JP") => /String can't be packed/ }.each_pair do |value, message|
      error = assert_raises(MessagePackRPC::PackError) { codec.pack(value) }
      assert_match(message, error.message)
      assert_kind_of(Plait::LocalProtocolError, error)
    end
  end

  def test_what_has_not_even_a_class
    assert_match(/BasicObject can't be packed/, assert_raises(MessagePackRPC::PackError) { codec.pack(BasicObject.new) }.message)
  end

  def test_what_contains_itself
    endless = []
    endless << endless
    assert_match(/nested too deeply/, assert_raises(MessagePackRPC::PackError) { codec.pack(endless) }.message)
  end

  def test_a_failure_leaves_nothing_behind
    codec = codec()
    assert_raises(MessagePackRPC::PackError) { codec.pack(["left behind", Object.new]) }
    assert_equal("\x05".b, codec.pack(5))
    assert_raises(MessagePackRPC::UnpackError) { codec.unpack("\x92\x01".b) }
    assert_equal(5, codec.unpack("\x05".b))
  end

  def test_what_cannot_be_unpacked
    # JRuby's unpacker ignores bytes behind the value, and goes on at any depth; the parser lets neither get there.
    more = RUBY_ENGINE == "ruby" ? ["\x01\x02", "#{"\x91" * 200}\xC0"] : []
    ["", "\x92\x01", "\xC1", *more].each do |packed|
      error = assert_raises(MessagePackRPC::UnpackError) { codec.unpack(packed.b) }
      assert_match(/the peer sent a value that can't be unpacked: /, error.message)
      refute_kind_of(Plait::RemoteProtocolError, error)
    end
  end

  def test_errors_of_a_types_own_code_come_through
    raising = codec do |factory|
      factory.register_type(7, Point, packer: ->(_) { raise KeyError }, unpacker: ->(_) { raise IndexError })
    end
    assert_raises(KeyError) { raising.pack(Point.new) }
    assert_raises(IndexError) { raising.unpack("\xD4\x07a".b) }
    assert_equal([1], raising.unpack(raising.pack([1])))
  end

  def test_types_whose_code_uses_the_codec
    inner = codec
    outer = codec do |factory|
      factory.register_type(7, Point, packer: ->(point) { inner.pack(point.to_a) },
                                      unpacker: ->(payload) { Point.new(*inner.unpack(payload)) })
    end
    assert_equal({ "p" => Point.new("a", "b") }, outer.unpack(outer.pack({ "p" => Point.new("a", "b") })))
  end

  def test_what_was_unpacked_is_not_kept
    skip("only where a collection is one when it is asked for") unless RUBY_ENGINE == "ruby"
    codec = codec()
    weak = ObjectSpace::WeakMap.new
    100.times { weak[codec.unpack(codec.pack("x" * 1000))] = true }
    wait_until(what: "the collection of what was unpacked") { GC.start || weak.size < 10 }
  end

  # ---- skeletons

  def test_large_strings_get_to_their_places
    large = ["é" * 40_000, "\xFF".b * 70_000, "k" * 66_000]
    value = [large[0], { "a" => large[1], large[2] => [nil, large[0]] }, 5]
    each_parser do |parser|
      result = receive(parser, codec.pack(value))
      assert_kind_of(MessagePackRPC.const_get(:Skeleton), result)
      assert_equal(value, codec.unpack(result))
      text, map, = codec.unpack(result)
      assert_equal([Encoding::UTF_8, Encoding::BINARY], [text.encoding, map["a"].encoding])
    end
  end

  def test_a_large_string_alone_is_the_one_that_was_received
    each_parser do |parser|
      result = receive(parser, codec.pack("x".b * 100_000))
      assert_same(result.body, codec.unpack(result))
    end
  end

  def test_nobody_can_send_marks
    forged = "\x93".b + "\xD6\x80\0\0\0\0".b + "\xC6\x00\x02\x00\x00".b + ("x" * 131_072) + "\xC7\x04\x80\0\0\0\0".b
    each_parser do |parser|
      first, body, last = codec.unpack(receive(parser, forged))
      assert_equal(["x".b * 131_072, -128, -128], [body, first.type, last.type])
    end
  end

  def test_a_registered_type_of_the_marks
    own = codec { |factory| factory.register_type(-128, Point, packer: :pack, unpacker: :unpack) }
    each_parser do |parser|
      assert_equal(["x" * 100_000], own.unpack(receive(parser, codec.pack(["x" * 100_000]))))
      assert_equal(["x" * 100_000, Point.new(1, 2)], own.unpack(receive(parser, own.pack(["x" * 100_000, Point.new(1, 2)]))))
    end
  end

  def test_large_strings_with_symbols_as_keys_and_types
    own = codec(symbolize_keys: true) { |factory| factory.register_type(7, Point, packer: :pack, unpacker: :unpack) }
    value = { a: "x" * 100_000, b: Point.new(1, 2) }
    each_parser { |parser| assert_equal(value, own.unpack(receive(parser, own.pack(value)))) }
  end

  # ---- sharing, and the gem

  def test_many_threads_share_one
    codec = codec()
    threads = Array.new(8) do |thread|
      Thread.new do
        Array.new(300) { |i| [thread, i, "x" * i] }.all? { |value| codec.unpack(codec.pack(value)).tap { Thread.pass } == value }
      end
    end
    assert(threads.all?(&:value))
  end

  def test_without_the_gem
    skip("starts a Ruby, which takes seconds") unless RUBY_ENGINE == "ruby"
    code = <<~RUBY
      require "plait/protocols/messagepack_rpc"
      begin
        Plait.const_get(:Protocols)::MessagePackRPC::Codec.new
      rescue Plait::UnsupportedError => e
        print e.message
      end
    RUBY
    said = Support::FreshRuby.run(code, flags: ["--disable=gems"], env: { "RUBYOPT" => nil, "RUBYLIB" => nil }).out
    assert_equal("MessagePack-RPC needs the gem msgpack (cannot load such file -- msgpack): " \
                 "add `gem \"msgpack\"` to the Gemfile (gem install msgpack)", said)
  end

  def test_values_that_no_peer_takes
    codec = Codec.new(largest: 100)
    assert_equal("\xC4\x62".b + ("x" * 98).b, codec.pack(("x" * 98).b))
    [("x" * 99).b, [1] * 100].each do |value|
      error = assert_raises(MessagePackRPC::PackError) { codec.pack(value) }
      assert_match(/takes 10[0-9] bytes of a message, and a peer takes 100: send it in parts, or raise limits/, error.message)
    end
    assert_equal("\x05", codec.pack(5))
  end

  private

  def codec(**options, &block) = Codec.new(**options, &block)

  def each_parser = Transcript::PARSERS.each_value { |parser| yield(parser.new) }

  # What a parser makes of a response with this result, received in pieces.
  def receive(parser, packed)
    frame = "\x94\x01\x01\xC0".b + [*packed].map(&:b).join
    frame.scan(/.{1,16384}/mn) { |piece| return parser.result if parser.feed(piece) && message?(parser) }
  end

  def message?(parser)
    while (event = parser.next_event)
      return true if event == :response
    end
  end
end
