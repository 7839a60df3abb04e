# frozen_string_literal: true

require "test_helper"
require "http/2" # another implementation
require "plait"
require "plait/protocols/hpack/compressor"
require "plait/protocols/hpack/decompressor"

class HPACKTest < Minitest::Test
  HPACK = Plait.const_get(:Protocols)::HPACK
  BROWSER = [[":method", "GET"], [":scheme", "https"], [":authority", "www.example.com"], [":path", "/a?b=c"],
             ["user-agent", "Mozilla/5.0"], ["accept", "*/*"], ["cookie", "a=b"], ["authorization", "Basic YTpi"]].freeze

  def setup
    @decompressor = HPACK::Decompressor.new(64 * 1024)
    @compressor = HPACK::Compressor.new
  end

  # RFC 7541, Appendix C: blocks as digits => what they say. Each row is one connection.
  EXAMPLES = {
    "C.2.1" => [["400a637573746f6d2d6b65790d637573746f6d2d686561646572", [%w[custom-key custom-header]]]],
    "C.2.2" => [["040c2f73616d706c652f70617468", [%w[:path /sample/path]]]],
    "C.2.3" => [["100870617373776f726406736563726574", [%w[password secret]]]],
    "C.2.4" => [["82", [%w[:method GET]]]],
    "C.3" => [
      ["828684410f7777772e6578616d706c652e636f6d",
       [%w[:method GET], %w[:scheme http], %w[:path /], %w[:authority www.example.com]]],
      ["828684be58086e6f2d6361636865",
       [%w[:method GET], %w[:scheme http], %w[:path /], %w[:authority www.example.com], %w[cache-control no-cache]]],
      ["828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
       [%w[:method GET], %w[:scheme https], %w[:path /index.html], %w[:authority www.example.com], %w[custom-key custom-value]]]
    ],
    "C.4" => [
      ["828684418cf1e3c2e5f23a6ba0ab90f4ff", [%w[:method GET], %w[:scheme http], %w[:path /], %w[:authority www.example.com]]],
      ["828684be5886a8eb10649cbf",
       [%w[:method GET], %w[:scheme http], %w[:path /], %w[:authority www.example.com], %w[cache-control no-cache]]],
      ["828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
       [%w[:method GET], %w[:scheme https], %w[:path /index.html], %w[:authority www.example.com], %w[custom-key custom-value]]]
    ],
    "C.6.1" => [
      ["488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
       [%w[:status 302], %w[cache-control private], ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
        %w[location https://www.example.com]]]
    ]
  }.freeze

  EXAMPLES.each do |name, blocks|
    define_method(:"test_example_#{name}") do
      blocks.each { |digits, fields| assert_equal(fields, @decompressor.decode([digits].pack("H*"))) }
    end
  end

  def test_what_the_compressor_writes_is_the_example_with_huffman_codes
    EXAMPLES["C.4"].each { |digits, fields| assert_equal([digits].pack("H*"), @compressor.encode(fields)) }
  end

  def test_each_byte_has_a_code
    bytes = (0..255).to_a.pack("C*")
    assert_equal(bytes, HPACK::Huffman.decode(HPACK::Huffman.encode(bytes)))
    assert_equal(HTTP2::Header::Huffman.encode(bytes.dup), HPACK::Huffman.encode(bytes))
  end

  # The gem http-2 reads our blocks, and we read its blocks, while both tables fill and change their size.
  def test_another_implementation_understands_it
    random = Random.new(seed)
    theirs = HTTP2::Header::Compressor.new
    reader = HTTP2::Header::Decompressor.new
    500.times do |round|
      fields = some_fields(random)
      theirs.max_table_size = @compressor.limit = random.rand(4097) if round % 50 == 49
      assert_equal(fields, reader.decode(@compressor.encode(fields)), "SEED=#{seed}")
      assert_equal(fields, @decompressor.decode(theirs.encode(fields)), "SEED=#{seed}")
    end
  end

  # §4.2: the lowest limit in between counts, too.
  def test_a_table_that_shrinks_and_grows_between_two_blocks
    @decompressor.decode(@compressor.encode([%w[x-a b]]))
    [0, 100, 4096, 100_000].each { |bytes| @compressor.limit = bytes }
    assert_equal("\x20\x3f\xe1\x1f".b, @compressor.encode([]))
    assert_equal("\x40".b, @compressor.encode([%w[x-a b]])[0], "it is not in the table any more")
  end

  def test_secrets_are_never_put_into_a_table
    block = @compressor.encode([["authorization", "Basic YTpi"]])
    assert_equal(0x10, block.getbyte(0) & 0xf0)
    assert_equal(block, @compressor.encode([["authorization", "Basic YTpi"]]))
  end

  def test_a_field_that_is_changed_later_leaves_the_table_as_it_is
    name, value = +"x-name", +"value"
    200.times do |i|
      @compressor.encode([[name, value << i.to_s]])
      name << "a" if i % 10 == 0
    end
    assert_operator(@compressor.encode([%w[x-other y]]).bytesize, :>, 3)
  end

  # block => what is wrong with it
  {
    "\x80" => /number 0 is not in the table/, "\xbe" => /number 62/, "\xff\x80\x01" => /number 255/, "\x7f" => /too early/,
    "\x40" => /too early/, "\x40\x05abc" => /too early/, "\x40\x01a" => /too early/, "\x40\x01a\x7f" => /too early/,
    "\xff\xff\xff\xff\xff\xff" => /more than 5 bytes/, "\x82\x20" => /behind a field/, "\x3f\xe2\x1f" => /a table of 4097 bytes/,
    "\x00\x81\xff\x00" => /wrong end/, "\x00\x84\xff\xff\xff\xff\x00" => /the sign for the end/, "\x00\x82\x00\x00" => /wrong end/
  }.each do |block, complaint|
    define_method(:"test_refuses_#{block.unpack1("H*")}") do
      assert_match(complaint, assert_raises(HPACK::Error) { @decompressor.decode(block.b) }.message)
    end
  end

  def test_refuses_a_list_that_becomes_too_large
    @decompressor.decode("\x40\x01a\x7f\x01".b << ("x" * 128))
    assert_raises(HPACK::TooLarge) { @decompressor.decode("\xbe".b * 1_000) }
  end

  def test_mutated_blocks_raise_nothing_else
    random = Random.new(seed)
    writer = HPACK::Compressor.new
    5_000.times do
      block = writer.encode(BROWSER.sample(random.rand(1..8), random: random))
      random.rand(1..3).times { block.setbyte(random.rand(block.bytesize), random.rand(256)) }
      block = block.byteslice(0, random.rand(1..block.bytesize)) if random.rand < 0.2
      @decompressor.decode(block)
    rescue HPACK::Error
      @decompressor = HPACK::Decompressor.new(64 * 1024)
    rescue StandardError => e
      flunk("SEED=#{seed}: #{e.full_message} #{block.inspect}")
    end
    pass
  end

  private

  def seed = @seed ||= Integer(ENV.fetch("SEED", Random.new_seed % 100_000))

  def some_fields(random)
    Array.new(random.rand(1..8)) do
      next BROWSER.sample(random: random) if random.rand < 0.5

      ["x-#{random.rand(20)}", random.bytes(random.rand(60)).tr("\x80-\xff".b, "a-zA-Z0-9")]
    end.sort_by { |name, _| name.start_with?(":") ? 0 : 1 }
  end
end
