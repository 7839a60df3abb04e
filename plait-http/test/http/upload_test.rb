# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "pathname"
require "socket"
require "stringio"
require "tempfile"
require "tmpdir"
require "zlib"
require "plait/http"
require "plait/http/upload"

class HTTPUploadTest < Minitest::Test
  Upload = Plait::HTTP.const_get(:Upload)

  # Gives text by #read and nothing else.
  class Source
    def initialize(*answers) = @answers = answers
    def read(_length) = @answers.shift
  end

  # What has a #size and an #each too.
  class Sized < Source
    def size = 1
    def each = raise("not asked")
  end

  # What has a length and its bytes from somewhere else.
  class Liar
    def initialize(said, *pieces)
      @said = said
      @pieces = pieces
    end

    def size = @said

    def replayable? = true

    def each(&) = @pieces.each(&)
  end

  def test_a_string_is_sent_as_it_is
    upload = Upload.wrap("größe")
    assert_equal([7, "größe"], [upload.size, upload.body])
    assert_predicate(Upload.wrap(""), :replayable?)
    assert_equal(0, Upload.wrap("").size)
  end

  def test_an_upload_is_one_already
    upload = Upload.wrap("x")
    assert_same(upload, Upload.wrap(upload))
  end

  def test_chunked_can_be_asked_for
    upload = Upload.wrap("größe", chunked: true)
    assert_nil(upload.size)
    assert_equal("7\r\ngröße\r\n0\r\n\r\n".b, bytes(upload))
    assert_equal("0\r\n\r\n", bytes(Upload.wrap("", chunked: true)))
  end

  def test_a_file_is_sent_from_where_it_stands_and_again
    with_file("0123456789") do |file|
      file.seek(4)
      upload = Upload.wrap(file)
      assert_equal([6, false], [upload.size, upload.chunked?])
      assert_predicate(upload, :replayable?)
      2.times { assert_equal("456789", bytes(upload)) }
      refute_predicate(file, :closed?)
    end
  end

  def test_a_text_file_is_sent_as_bytes
    with_file("é\r\n") do |file|
      upload = Upload.wrap(File.open(file.path, "rt:utf-8:utf-16le"))
      assert_equal(4, upload.size)
      assert_equal("é\r\n".b, bytes(upload))
    end
  end

  def test_a_tempfile_is_sent_with_what_was_not_written_yet
    Tempfile.create("plait-test-") do |file|
      file.write("buffered")
      file.rewind
      assert_equal([8, "buffered"], [Upload.wrap(file).size, bytes(Upload.wrap(file))])
    end
    tempfile = Tempfile.new("plait-test-").tap { |file| file.write("buffered") && file.rewind }
    assert_equal([8, "buffered"], [Upload.wrap(tempfile).size, bytes(Upload.wrap(tempfile))])
  ensure
    tempfile&.close!
  end

  def test_an_empty_file_has_a_length_and_one_of_proc_has_none
    with_file("") { |file| assert_equal([0, ""], [Upload.wrap(file).size, bytes(Upload.wrap(file))]) }
    return unless File.exist?("/proc/self/status")

    File.open("/proc/self/status") do |file|
      upload = Upload.wrap(file)
      assert_nil(upload.size)
      assert_match(/^Name:/, bytes(upload))
    end
  end

  def test_a_file_that_grew_is_sent_as_long_as_it_was
    with_file("12345") do |file|
      upload = Upload.wrap(file)
      File.write(file.path, "67890", mode: "a")
      assert_equal("12345", bytes(upload))
    end
  end

  def test_a_file_that_became_shorter_is_an_error
    with_file("12345") do |file|
      upload = Upload.wrap(file)
      File.truncate(file.path, 2)
      error = assert_raises(Plait::LocalProtocolError) { bytes(upload) }
      assert_match(/has become shorter while it was sent: 3 of the 5 bytes/, error.message)
    end
  end

  def test_what_can_not_be_read_is_an_error_before_anything_is_sent
    with_file("x") { |file| assert_raises(IOError) { Upload.wrap(File.open(file.path).tap(&:close)) } }
    Tempfile.create("plait-test-") { |file| assert_raises(IOError) { Upload.wrap(File.open(file.path, "w")) } }
  end

  def test_a_large_file_is_read_in_pieces
    Tempfile.create("plait-test-") do |file|
      file.truncate(100 << 20)
      before = peak_memory
      sizes = pieces(Upload.wrap(file), &:bytesize)
      assert_equal([100 << 20, 64 * 1024], [sizes.sum, sizes.max])
      assert_operator(peak_memory - before, :<, 80 << 20)
    end
  end

  def test_a_stringio_is_sent_from_where_it_stands
    io = StringIO.new("äbc")
    io.read(2)
    upload = Upload.wrap(io)
    assert_equal(2, upload.size)
    2.times { assert_equal("bc", bytes(upload)) }
  end

  def test_a_pipe_is_sent_as_it_comes_and_once
    reader, writer = IO.pipe
    upload = Upload.wrap(reader)
    assert_equal([nil, true, false], [upload.size, upload.chunked?, upload.replayable?])
    arrived = Queue.new
    thread = Thread.new { upload.each { |piece| arrived << piece } }
    %w[a bc].each { |text| writer.write(text) && assert_equal("#{text.bytesize}\r\n#{text}\r\n", arrived.pop) }
    writer.close
    assert_equal("0\r\n\r\n", arrived.pop)
    thread.join
    assert_match(/read once/, assert_raises(Plait::UsageError) { bytes(upload) }.message)
  ensure
    [reader, writer].each(&:close)
  end

  def test_whatever_reads_is_read_to_its_end
    assert_equal("2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", bytes(Upload.wrap(Source.new("ab", "c", nil))))
    assert_equal("abc", bytes(Upload.wrap(Source.new("ab", "c", nil), chunked: false)))
    assert_nil(Upload.wrap(Sized.new("ab", nil)).size) # characters? compressed?
    assert_equal("plain", bytes(Upload.wrap(Zlib::GzipReader.new(StringIO.new(Zlib.gzip("plain"))), chunked: false)))
    [1, ""].each do |answer|
      error = assert_raises(Plait::UsageError) { bytes(Upload.wrap(Source.new("ab", answer))) }
      assert_match(/Source#read\(65536\) gave #{answer.inspect}, which is neither/, error.message)
    end
  end

  def test_an_array_has_a_length_and_can_be_sent_again
    upload = Upload.wrap(["a", "", "öl"])
    assert_equal(4, upload.size)
    2.times { assert_equal("aöl".b, bytes(upload)) }
  end

  def test_an_enumerable_is_asked_as_it_is_sent_and_once
    asked = 0
    upload = Upload.wrap(Enumerator.new { |y| 3.times { |i| y << (asked = i + 1).to_s << "" } })
    assert_equal([nil, false], [upload.size, upload.replayable?])
    seen = pieces(upload) { |piece| [asked, piece] }
    assert_equal([[1, "1\r\n1\r\n"], [2, "1\r\n2\r\n"], [3, "1\r\n3\r\n"], [3, "0\r\n\r\n"]], seen)
    assert_match(/were sent once/, assert_raises(Plait::UsageError) { bytes(upload) }.message)
  end

  def test_a_large_string_of_an_enumerable_is_cut_into_chunks
    sizes = pieces(Upload.wrap(["x" * 150_000].each), &:bytesize)
    assert_equal([65_536 + 9, 65_536 + 9, 18_928 + 8, 5], sizes)
  end

  # Each read of a path starts again at its beginning.
  def test_a_path_is_no_body
    [Pathname("/etc/hostname"), Dir.new("/")].each do |path|
      [-> { Plait::HTTP::Request.new(:post, "http://h/", body: path) },
       -> { Plait::HTTP::Request.new(:post, "http://h/", multipart: { a: path }) }].each do |made|
        assert_match(/is a path and no body: give File.open/, assert_raises(Plait::UsageError, &made).message)
      end
    end
  end

  def test_what_is_no_body_is_refused_with_advice
    { { a: 1 } => /form:, json: or multipart:/, 5 => /5 is no body: give a String/, nil => /nil/ }.each do |body, message|
      assert_match(message, assert_raises(Plait::UsageError) { Upload.wrap(body) }.message)
    end
    assert_match(/Array#each gave a Integer/, assert_raises(Plait::UsageError) { Upload.wrap(["a", 5]) }.message)
    assert_match(/Enumerator#each gave a Symbol/, assert_raises(Plait::UsageError) { bytes(Upload.wrap([:a].each)) }.message)
  end

  def test_more_or_fewer_bytes_than_announced_are_no_body
    { 2 => %w[ab], 4 => %w[ab c], 0 => [] }.each do |said, sent|
      seen = []
      error = assert_raises(Plait::LocalProtocolError) { Upload.wrap(Liar.new(said, "ab", "c")).each { |piece| seen << piece } }
      assert_equal([:content_length, sent], [error.rule, seen])
      assert_match(/(more|fewer) than the #{said} bytes/, error.message)
    end
    grown = ["ab", +"c"]
    upload = Upload.wrap(grown)
    grown.last << "GET /other HTTP/1.1"
    assert_raises(Plait::LocalProtocolError) { upload.each { nil } }
  end

  # The pieces of a file are one String: what a full socket has not taken of one must not become the next one.
  def test_a_slow_reader_gets_the_bytes_of_a_file
    bytes = Random.new(5).bytes(3_000_000)
    Tempfile.create("plait-test-", binmode: true) do |file|
      file.write(bytes)
      file.flush
      contents = { body: -> { file.tap(&:rewind) }, multipart: -> { { note: "n", file: File.open(file.path, "rb") } } }
      [:threads, *(:fibers if RUBY_ENGINE == "ruby")].product(contents.to_a).each do |on, (name, content)|
        got = uploaded_slowly { |url| Plait.map([url], on: on) { |one| Plait::HTTP.post(one, name => content.call, timeout: 60).status } }
        assert_includes(got, bytes, "#{name} on #{on}")
      end
    end
  end

  private

  # @yieldparam url [String]
  # @return [String] what the server has got
  def uploaded_slowly
    server = TCPServer.new("127.0.0.1", 0)
    server.setsockopt(:SOCKET, :RCVBUF, 8_192)
    thread = Thread.new do
      socket = server.accept
      length = Integer(socket.gets("\r\n\r\n")[/content-length: (\d+)/i, 1])
      got = String.new
      got << socket.readpartial([10_000, length - got.bytesize].min).tap { Thread.pass } while got.bytesize < length
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
      socket.close
      got
    end
    assert_equal([200], yield("http://127.0.0.1:#{server.local_address.ip_port}/"))
    thread.value
  ensure
    server.close
    thread.kill.join
  end

  def bytes(upload) = pieces(upload) { |piece| piece.b.tap { refute_empty(piece) } }.join

  def pieces(upload)
    list = []
    upload.each { |piece| list << yield(piece) } # rubocop:disable Style/MapIntoArray -- there is no map
    list
  end

  def with_file(text, &block)
    Dir.mktmpdir("plait-test-") do |folder|
      File.binwrite(File.join(folder, "file"), text)
      File.open(File.join(folder, "file"), "rb", &block)
    end
  end

  # Bytes, the most there were in this process.
  def peak_memory
    return 0 unless RUBY_ENGINE == "ruby" && File.exist?("/proc/self/status")

    GC.start
    File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i * 1024
  end
end
