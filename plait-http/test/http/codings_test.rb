# frozen_string_literal: true

require "test_helper"
require "zlib"
require "plait/http"
require "plait/http/codings"

class HTTPCodingsTest < Minitest::Test
  Codings = Plait::HTTP.const_get(:Codings)
  PLAIN = (("Straße, häufig. " * 40).b + Random.new(1).bytes(1500)).freeze
  MEGABYTE = 1 << 20

  def self.gzip(text) = Zlib.gzip(text)
  def self.deflate(text) = Zlib.deflate(text)
  def self.raw(text) = Zlib::Deflate.new(9, -Zlib::MAX_WBITS).then { |z| z.deflate(text, Zlib::FINISH).tap { z.close } }
  def self.brotli(text) = Codings::Brotli.available? ? ::Brotli.deflate(text) : ""

  FORMATS = {
    gzip: ["gzip", gzip(PLAIN)], x_gzip: ["X-GZIP", gzip(PLAIN)], deflate: ["deflate", deflate(PLAIN)],
    raw_deflate: ["deflate", raw(PLAIN)], br: ["br", brotli(PLAIN)],
    two_members: ["gzip", gzip(PLAIN[0, 700]) + gzip(PLAIN[700..])],
    empty_members: ["gzip", gzip("") + gzip(PLAIN) + gzip("")],
    layers: ["gzip, deflate", deflate(gzip(PLAIN))], three_layers: ["deflate , GZIP,gzip", gzip(gzip(raw(PLAIN)))]
  }.freeze

  FORMATS.each do |name, (coding, coded)|
    define_method("test_decodes_#{name}_at_once") do
      need(coding)
      whole = Codings.decode(coded, coding, max: PLAIN.bytesize)
      assert_equal(PLAIN, whole)
      assert_equal(Encoding::BINARY, whole.encoding)
    end

    define_method("test_decodes_#{name}_cut_at_every_byte") do
      need(coding)
      (0..coded.bytesize).each do |cut|
        assert_equal(PLAIN, decode_pieces(coding, [coded.byteslice(0, cut), coded.byteslice(cut..)]), "cut at #{cut}")
      end
      assert_equal(PLAIN, decode_pieces(coding, coded.each_char.to_a))
    end

    define_method("test_a_truncated_#{name}_is_an_error_at_every_byte") do
      need(coding)
      (1...coded.bytesize).each do |cut|
        next if name == :two_members && cut == Zlib.gzip(PLAIN[0, 700]).bytesize
        next if name == :empty_members && [20, coded.bytesize - 20].include?(cut)

        error = assert_raises(Plait::TruncatedError, "cut at #{cut}") { Codings.decode(coded.byteslice(0, cut), coding, max: MEGABYTE) }
        assert_match(/ended before the end of its Content-Encoding/, error.message)
      end
    end

    define_method("test_bytes_behind_the_end_of_#{name}_are_an_error") do
      need(coding)
      ["\0", "x", "\x1e\x8b".b, "garbage" * 10_000].each do |garbage|
        [[coded + garbage], [coded, garbage], [coded, *garbage[0, 10].chars]].each do |pieces|
          assert_raises(Plait::RemoteProtocolError, garbage[0, 9].inspect) { decode_pieces(coding, pieces) }
        end
      end
    end

    # A flipped bit in a header that nobody reads, or in an empty stored block, may change nothing; it never changes the text.
    define_method("test_a_flipped_bit_of_#{name}_is_never_taken_for_the_text") do
      next if name == :raw_deflate || coding == "br" # which have no checksum

      coded.bytesize.times do |at|
        broken = coded.dup
        broken.setbyte(at, broken.getbyte(at) ^ (1 << (at % 8)))
        assert_equal(PLAIN, decode_broken(broken, coding) || PLAIN, "byte #{at}")
      end
    end
  end

  def test_what_is_no_coding_at_all_is_passed_on
    ["", "identity", " Identity ,, "].each { |coding| assert_equal("text", Codings.decode("text", coding, max: 4)) }
  end

  # Of an answer to HEAD, or of one with Content-Length: 0.
  def test_an_empty_body_is_empty_in_every_coding
    %w[gzip deflate].each { |coding| assert_equal("", Codings.decode("", coding, max: 0)) }
  end

  def test_garbage_is_an_error_that_names_the_endpoint_and_the_coding
    error = assert_raises(Plait::RemoteProtocolError) { Codings.decode("<html>", "gzip", max: 9, endpoint: "http://a.test") }
    assert_match(%r{\Athe body from http://a\.test is not what its Content-Encoding \(gzip\) says: }, error.message)
    assert_equal(:content_coding, error.rule)
  end

  def test_an_unknown_coding_is_an_error_that_says_what_to_ask_for
    error = assert_raises(Plait::UnsupportedError) { Codings.decode("x", "gzip, zstd", max: 9) }
    assert_match(/"zstd", which is not known here: send an Accept-Encoding of gzip, deflate/, error.message)
    refute(Codings.known?("gzip, zstd"))
    assert(Codings.known?("x-gzip, identity"))
  end

  def test_without_the_gem_br_is_neither_accepted_nor_known
    without_brotli do
      assert_equal("gzip, deflate", Codings.accept)
      error = assert_raises(Plait::UnsupportedError) { Codings.decode("x", "br", max: 9) }
      assert_match(/coded as br: add `gem "brotli", ">= 0\.8"` to the Gemfile/, error.message)
    end
  end

  def test_with_the_gem_br_is_accepted
    need("br")
    assert_equal("gzip, deflate, br", Codings.accept)
  end

  def test_too_many_layers_are_refused
    error = assert_raises(Plait::RemoteProtocolError) { Codings.decoder((["gzip"] * 6).join(","), max: 9) }
    assert_match(/6 content codings/, error.message)
  end

  {
    gzip: -> { gzip("\0" * (16 * MEGABYTE)) * 64 },
    deflate: -> { raw_zeros(64) },
    br: -> { need("br") && ::Brotli.deflate("\0" * (256 * MEGABYTE), quality: 5) }
  }.each do |coding, bomb|
    define_method("test_a_bomb_of_#{coding}_hits_the_limit_early_and_without_its_memory") do
      body = instance_exec(&bomb)
      before = peak_memory
      error = assert_raises(Plait::LimitExceeded) { Codings.decode(body, coding.to_s, max: 4 * MEGABYTE, endpoint: "http://a.test") }
      assert_equal([:max_body, 4 * MEGABYTE], [error.limit, error.maximum])
      assert_match(/more than 4194304 bytes.*raise max_body/, error.message)
      assert_operator(peak_memory - before, :<, 100 * MEGABYTE)
    end

    define_method("test_a_large_body_of_#{coding}_passes_in_small_pieces") do
      body = instance_exec(&bomb)
      before = peak_memory
      total = largest = 0
      decoder = Codings.decoder(coding.to_s, max: nil)
      decoder.decode(body) { |piece| (total += piece.bytesize) && largest = [largest, piece.bytesize].max }
      decoder.finish
      assert_operator(total, :>=, 256 * MEGABYTE)
      assert_operator(largest, :<=, 64 * 1024)
      assert_operator(peak_memory - before, :<, 100 * MEGABYTE)
    end
  end

  # What comes out of the inner layer is nothing; it takes as long as a bomb.
  def test_a_bomb_between_two_layers_hits_the_limit
    nothing = "\x00\x00\x00\xff\xff".b * MEGABYTE # stored blocks of no bytes
    assert_raises(Plait::LimitExceeded) { Codings.decode(self.class.gzip(nothing), "deflate, gzip", max: MEGABYTE) }
  end

  def test_the_limit_itself_is_allowed
    assert_equal("12345", Codings.decode(self.class.gzip("12345"), "gzip", max: 5))
    assert_raises(Plait::LimitExceeded) { Codings.decode(self.class.gzip("123456"), "gzip", max: 5) }
  end

  # Two that require at once are told by Ruby of a circle, and one finds half a gem.
  def test_threads_look_for_brotli_one_after_another
    loads = Queue.new
    brotli = Class.new(Codings::Brotli) do
      @lock = Mutex.new
      define_singleton_method(:load) { (loads << true) && sleep(0.02) && true }
    end
    assert_equal([true], Array.new(8) { Thread.new { brotli.available? } }.map(&:value).uniq)
    assert_equal(1, loads.size)
  end

  def test_many_tiny_members_take_linear_time
    member = self.class.gzip("")
    start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    assert_equal("", Codings.decode(member * 100_000, "gzip", max: 0))
    assert_operator(Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - start, :<, 20)
  end

  def test_trouble_of_the_callers_block_is_the_callers
    decoder = Codings.decoder("gzip", max: nil)
    assert_raises(Zlib::GzipFile::Error) { decoder.decode(self.class.gzip("x")) { raise Zlib::GzipFile::Error, "mine" } }
  end

  def test_a_decoder_can_be_closed_in_the_middle_and_twice
    decoder = Codings.decoder("gzip, deflate", max: nil)
    decoder.decode(self.class.deflate(self.class.gzip(PLAIN))[0, 100]) { |piece| assert(piece) }
    2.times { decoder.close }
  end

  private

  def need(coding) = coding != "br" || Codings::Brotli.available? || skip("no gem brotli: bin/setup test drivers")

  # @return [String, nil] nil when it was noticed
  def decode_broken(broken, coding)
    Codings.decode(broken, coding, max: MEGABYTE)
  rescue Plait::RemoteProtocolError
    nil
  end

  def decode_pieces(coding, pieces)
    decoder = Codings.decoder(coding, max: MEGABYTE)
    whole = pieces.map { |piece| decoder << piece }.join
    assert_equal("", decoder.finish)
    whole
  ensure
    decoder&.close
  end

  # 16 MiB of zeros, deflated once, as often as asked: nobody has to deflate a gigabyte.
  def raw_zeros(times)
    deflate = Zlib::Deflate.new(9, -Zlib::MAX_WBITS)
    block = deflate.deflate("\0" * (16 * MEGABYTE), Zlib::FULL_FLUSH)
    (block * times) + deflate.finish
  ensure
    deflate.close
  end

  def gzip(text) = self.class.gzip(text)

  # Bytes, the most there were in this process.
  def peak_memory
    return 0 unless File.exist?("/proc/self/status")

    GC.start
    File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i * 1024
  end

  def without_brotli
    known = Codings::Brotli.available?
    Codings::Brotli.instance_variable_set(:@available, false)
    yield
  ensure
    Codings::Brotli.instance_variable_set(:@available, known)
  end
end
