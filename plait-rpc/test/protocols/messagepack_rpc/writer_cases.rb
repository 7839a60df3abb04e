# frozen_string_literal: true

require_relative "reference"
require_relative "transcript"

# The contract of a writer: what each engine must do.
module WriterCases
  MessagePackRPC = Plait.const_get(:Protocols)::MessagePackRPC

  def test_each_kind
    { request: [[5, "add", "\x92\x01\x02".b], "\x94\x00\x05\xA3add\x92\x01\x02"],
      notification: [["log", "\x90".b], "\x93\x02\xA3log\x90"],
      response: [[5, "\x03".b], "\x94\x01\x05\xC0\x03"],
      error: [[5, "\xA4oops".b], "\x94\x01\x05\xA4oops\xC0"] }.each do |kind, (arguments, bytes)|
      writer = build
      assert_same(writer, writer.public_send(kind, *arguments))
      assert_equal([[bytes.b], true], [writer.take, writer.empty?])
    end
  end

  def test_an_error_with_more_about_it
    writer = build.error(5, "\xA4oops", ["\x91", "\x01"])
    assert_equal(["\x94\x01\x05\xA4oops\x91\x01".b], writer.take)
    assert_raises(ArgumentError) { writer.error(5) }
  end

  def test_ids_in_the_shortest_form
    { 0 => 1, 127 => 1, 128 => 2, 255 => 2, 256 => 3, 65_535 => 3, 65_536 => 5, (1 << 32) - 1 => 5, 1 << 32 => 9,
      (1 << 62) - 1 => 9, 1 << 62 => 9, 1 << 63 => 9, (1 << 64) - 1 => 9 }.each do |id, size|
      frame = build.response(id, "\xC0".b).take.join
      assert_equal([2 + size + 2, [1, id, nil, nil]], [frame.bytesize, Reference.decode(frame)])
    end
  end

  def test_methods
    ["", "a", "a" * 31, "a" * 32, "a" * 255, "a" * 256, "a" * 65_535, "a" * 65_536, "größe", :symbol].each do |method|
      [build, build(raw: true)].each do |writer|
        assert_equal([2, method.to_s, []], Reference.decode(writer.notification(method, "\x90".b).take.join))
      end
    end
  end

  def test_an_old_peer_gets_raw_names
    assert_equal("\x93\x02\xD9\x20".b, build.notification("a" * 32, "\x90").take.first[0, 4])
    assert_equal("\x93\x02\xDA\x00\x20".b, build(raw: true).notification("a" * 32, "\x90").take.first[0, 5])
    assert_equal("\x93\x02\xBF".b, build(raw: true).notification("a" * 31, "\x90").take.first[0, 3])
  end

  def test_small_messages_are_joined
    writer = build
    100.times { |i| writer.request(i, "m", "\x90") }
    assert_equal([false, 600], [writer.empty?, writer.bytesize])
    parts = writer.take
    assert_equal([1, 600, Encoding::BINARY], [parts.size, parts.first.bytesize, parts.first.encoding])
    assert_equal([0, []], [writer.bytesize, writer.take])
  end

  def test_large_pieces_are_not_copied
    large = "x" * 20_000
    writer = build.request(1, "put", ["\x92\xDA\x4E\x20".b, large, "\x07"]).request(2, "m", "\x90")
    assert_equal(7 + 4 + 20_000 + 1 + 6, writer.bytesize)
    parts = writer.take
    assert_equal(3, parts.size)
    assert_same(large, parts[1])
    assert_equal([0, 1, "put", [large, 7]], Reference.new(parts.join).value)
  end

  def test_where_joining_ends
    packed = "\xC4\xFF".b + ("x" * 255)
    assert_equal(1, build(join: 258).response(1, packed).take.size)
    assert_equal(2, build(join: 257).response(1, packed).take.size)
    assert_equal(["\x94\x01\x01".b, packed, "\xC0".b], build(join: 257).error(1, packed).take)
    assert_equal([0xc0], build(join: 0).response(1, "\xC0".b).take.last.bytes)
  end

  def test_two_large_pieces_one_after_another
    packed = ["\x92\xC4\xFF".b, "x" * 255, "\xC4\xFF".b, "y" * 255]
    parts = build(join: 200).response(1, packed).take
    assert_equal([7, 255, 2, 255], parts.map(&:bytesize))
  end

  def test_what_was_taken_is_the_callers
    writer = build.request(1, "m", "\x90")
    first = writer.take
    writer.request(2, "m", "\x90")
    first.first << "more"
    assert_equal([0, 2, "m", []], Reference.decode(writer.take.join))
  end

  def test_clear
    assert_same(*build.request(1, "m", "\x90").then { |writer| [writer, writer.clear] })
    assert_equal([], build(join: 1).request(1, "m", "\x90").clear.take)
  end

  def test_what_would_break_the_protocol_is_refused
    [-1, 1 << 32, 1.0, nil, "1"].each { |id| refused(:id) { |writer| writer.request(id, "m", "\x90") } }
    [-1, 1 << 64, nil].each { |id| refused(:id) { |writer| writer.response(id, "\xC0") } }
    [nil, 5, ["m"]].each { |method| refused(:method) { |writer| writer.notification(method, "\x90") } }
    ["\xC0", "\x80", "\xA1a", ["", "\xC0"]].each { |params| refused(:params) { |writer| writer.request(1, "m", params.dup) } }
    [nil, "", [], ["", ""], 5, ["\x90", nil]].each { |params| refused(:packed) { |writer| writer.request(1, "m", params) } }
    [nil, "", [], 5].each do |value|
      refused(:packed) { |writer| writer.response(1, value) }
      refused(:packed) { |writer| writer.error(1, value) }
      refused(:packed) { |writer| writer.error(1, "\xC0", value) }
    end
  end

  def test_params_in_pieces
    ["\x90", ["\x90"], ["", "\x91", "\x01"], ["\xDC\x00\x00"], ["\xDD\x00\x00\x00\x00"]].each do |params|
      assert_kind_of(Array, Reference.decode(build.notification("m", params).take.join).last)
    end
  end

  def test_wrong_options
    assert_raises(ArgumentError) { build(joined: 5) }
  end

  private

  def build(**options) = self.class::ENGINE.new(**options)

  # Nothing of it is appended.
  def refused(rule)
    writer = build.notification("m", "\x90")
    assert_equal(rule, assert_raises(Plait::LocalProtocolError) { yield(writer) }.rule)
    assert_equal([2, "m", []], Reference.decode(writer.take.join))
  end
end
