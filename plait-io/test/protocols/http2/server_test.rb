# frozen_string_literal: true

require "test_helper"
require "http/2" # another implementation of HPACK
require "plait"
require "plait/protocols/http2/server"
require "support/raw_http2"

# The rules of RFC 9113 that a server keeps, frame by frame. The sections are those of the RFC; h2spec asks for the same.
class HTTP2ServerTest < Minitest::Test
  include RawHTTP2

  Server = Plait.const_get(:Protocols)::HTTP2::Server

  # Keeps what it is told.
  class Host
    attr_reader :requests, :bodies, :finished, :resets

    def initialize
      @requests = {}
      @bodies = Hash.new { |bodies, id| bodies[id] = +"".b }
      @finished = {}
      @resets = []
      @streams = {}
    end

    def stream(id) = @streams.fetch(id)

    def request(stream, head)
      @streams[stream.id] = stream
      @requests[stream.id] = head
    end

    def data(stream, bytes) = @bodies[stream.id] << bytes
    def finish(stream, trailers) = @finished[stream.id] = trailers
    def reset(stream, _) = @resets << stream.id
    def granted(_) = nil
  end

  def setup
    @host = Host.new
    @now = 0.0
    @session = open_session(64 * 1024)
    @session.receive(hello)
    sent
  end

  # What breaks the connection: bytes behind the greeting => the error of GOAWAY.
  BROKEN = {
    "§4.2 a frame larger than allowed" => [-> { frame(DATA, 0, 1, "", size: 16_385) }, :frame_size_error],
    "§4.3 a header block that can't be read" => [-> { frame(HEADERS, 5, 1, "\xff\xff\xff\xff\xff".b) }, :compression_error],
    "§4.3 an index that is not there" => [-> { frame(HEADERS, 5, 1, "\xc6".b) }, :compression_error],
    "§4.3 a table larger than allowed" => [-> { frame(HEADERS, 5, 1, "\x3f\xe1\xff\xff\x03".b) }, :compression_error],
    "§4.2 HEADERS larger than allowed" => [-> { frame(HEADERS, 5, 1, "", size: 16_385) }, :frame_size_error],
    "§4.3 PRIORITY in the middle of a header block" =>
      [-> { frame(HEADERS, 1, 1, block(GET)) + frame(PRIORITY, 0, 1, [0, 255].pack("NC")) }, :protocol_error],
    "§5.1 DATA behind RST_STREAM" => [-> { request(1, POST, last: false) + reset(1) + data(1, "x") }, :stream_closed],
    "§5.1 CONTINUATION behind RST_STREAM" => [-> { request(1) + reset(1) + frame(CONTINUATION, 4, 1) }, :protocol_error],
    "§5.5 an unknown frame in the middle of a header block" =>
      [-> { frame(HEADERS, 1, 1, block(GET)) + frame(0xfe, 0, 0, "12345678") }, :protocol_error],
    "RFC 7541 §2.3.3 index 0" => [-> { frame(HEADERS, 5, 1, block(GET) + "\x80".b) }, :compression_error],
    "RFC 7541 §4.2 another size of the table behind a field" =>
      [-> { frame(HEADERS, 5, 1, block(GET) + "\x20".b) }, :compression_error],
    "RFC 7541 §5.2 padding of more than seven bits" =>
      [-> { frame(HEADERS, 5, 1, block(GET) + "\x00\x85\xf2\xb2\x4a\x84\xff\x84\x49\x50\x9f\xff".b) }, :compression_error],
    "RFC 7541 §5.2 padding by zeros" =>
      [-> { frame(HEADERS, 5, 1, block(GET) + "\x00\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90".b) }, :compression_error],
    "RFC 7541 §5.2 the sign for the end" =>
      [-> { frame(HEADERS, 5, 1, block(GET) + "\x00\x85\xf2\xb2\x4a\x84\xff\x87\xff\xff\xff\xfd\x25\x42\x7f".b) },
       :compression_error],
    "§5.1 DATA on an idle stream" => [-> { data(1, "x") }, :protocol_error],
    "§5.1 RST_STREAM on an idle stream" => [-> { reset(1) }, :protocol_error],
    "§5.1 WINDOW_UPDATE on an idle stream" => [-> { window(1, 1) }, :protocol_error],
    "§5.1 CONTINUATION on an idle stream" => [-> { frame(CONTINUATION, 4, 1, block(GET)) }, :protocol_error],
    "§5.1.1 a stream with an even number" => [-> { request(2) }, :protocol_error],
    "§5.1.1 a stream with a smaller number" => [-> { request(5) + request(3) }, :stream_closed],
    "§6.1 DATA on stream 0" => [-> { data(0, "x") }, :protocol_error],
    "§6.1 more padding than DATA" => [-> { request(1, POST, last: false) + frame(DATA, PADDED, 1, "\x05abcd") }, :protocol_error],
    "§6.1 padding of an empty DATA" => [-> { request(1, POST, last: false) + frame(DATA, PADDED, 1) }, :protocol_error],
    "§6.2 HEADERS on stream 0" => [-> { request(0) }, :protocol_error],
    "§6.2 more padding than HEADERS" => [-> { frame(HEADERS, PADDED | 5, 1, "\xff".b + block(GET)) }, :protocol_error],
    "§6.2 HEADERS too short for its priority" => [-> { frame(HEADERS, PRIORITIZED | 5, 1, "\0\0") }, :frame_size_error],
    "§6.2 HEADERS in the middle of a header block" => [-> { frame(HEADERS, 1, 1, block(GET)) + request(3) }, :protocol_error],
    "§6.2 DATA in the middle of a header block" => [-> { frame(HEADERS, 1, 1, block(GET)) + data(1, "x") }, :protocol_error],
    "§6.3 PRIORITY on stream 0" => [-> { frame(PRIORITY, 0, 0, "\0\0\0\0\0") }, :protocol_error],
    "§6.3 PRIORITY of a wrong size" => [-> { request(1, POST, last: false) + frame(PRIORITY, 0, 1, "\0") }, :frame_size_error],
    "§6.4 RST_STREAM on stream 0" => [-> { reset(0) }, :protocol_error],
    "§6.4 RST_STREAM of a wrong size" => [-> { request(1) + frame(RST_STREAM, 0, 1, "\0\0\0") }, :frame_size_error],
    "§6.5 SETTINGS on a stream" => [-> { frame(SETTINGS, 0, 1) }, :protocol_error],
    "§6.5 SETTINGS of a wrong size" => [-> { frame(SETTINGS, 0, 0, "\0\0\0") }, :frame_size_error],
    "§6.5 an ACK with something in it" => [-> { frame(SETTINGS, ACK, 0, "\0" * 6) }, :frame_size_error],
    "§6.5.2 ENABLE_PUSH of 2" => [-> { settings([2, 2]) }, :protocol_error],
    "§6.5.2 INITIAL_WINDOW_SIZE of 2^31" => [-> { settings([4, 1 << 31]) }, :flow_control_error],
    "§6.5.2 MAX_FRAME_SIZE of 2^14 - 1" => [-> { settings([5, 16_383]) }, :protocol_error],
    "§6.5.2 MAX_FRAME_SIZE of 2^24" => [-> { settings([5, 1 << 24]) }, :protocol_error],
    "§6.7 PING on a stream" => [-> { frame(PING, 0, 1, "12345678") }, :protocol_error],
    "§6.7 PING of a wrong size" => [-> { frame(PING, 0, 0, "1234567") }, :frame_size_error],
    "§6.8 GOAWAY on a stream" => [-> { frame(GOAWAY, 0, 1, "\0" * 8) }, :protocol_error],
    "§6.8 GOAWAY of a wrong size" => [-> { frame(GOAWAY, 0, 0, "\0" * 7) }, :frame_size_error],
    "§6.9 WINDOW_UPDATE of 0" => [-> { window(0, 0) }, :protocol_error],
    "§6.9 WINDOW_UPDATE of a wrong size" => [-> { frame(WINDOW_UPDATE, 0, 0, "\0\0\1") }, :frame_size_error],
    "§6.9.1 a window of 2^31" => [-> { window(0, (1 << 31) - 1) }, :flow_control_error],
    "§6.9.2 a stream's window of 2^31, by SETTINGS" =>
      [-> { request(1) + window(1, (1 << 31) - 65_536) + settings([4, 65_536]) }, :flow_control_error],
    "§6.10 CONTINUATION behind a whole header block" => [-> { request(1) + frame(CONTINUATION, 4, 1) }, :protocol_error],
    "§6.10 CONTINUATION of another stream" =>
      [-> { frame(HEADERS, 1, 1, block(GET)) + frame(CONTINUATION, 4, 3) }, :protocol_error],
    "§6.10 CONTINUATION on stream 0" => [-> { frame(HEADERS, 1, 1, block(GET)) + frame(CONTINUATION, 4, 0) }, :protocol_error],
    "§8.4 PUSH_PROMISE of a client" => [-> { frame(PUSH_PROMISE, 4, 1, "\0\0\0\2") }, :protocol_error]
  }.freeze

  # What is wrong with one request: => the error of RST_STREAM.
  MALFORMED = {
    "§5.1 DATA behind the end" => [-> { request(1) + data(1, "x") }, :stream_closed],
    "§5.1 HEADERS behind the end" => [-> { request(1) + request(1) }, :stream_closed],
    "§5.3.1 a stream that depends on itself" =>
      [-> { frame(HEADERS, PRIORITIZED | 5, 1, [1, 15].pack("NC") + block(GET)) }, :protocol_error],
    "§6.3 PRIORITY of a stream that depends on itself" => [-> { request(1) + frame(PRIORITY, 0, 1, [1, 0].pack("NC")) },
                                                           :protocol_error],
    "§6.9 WINDOW_UPDATE of 0 on a stream" => [-> { request(1) + window(1, 0) }, :protocol_error],
    "§6.9.1 a window of 2^31 on a stream" => [-> { request(1) + window(1, (1 << 31) - 1) }, :flow_control_error],
    "§8.1 a second head that does not end the stream" =>
      [-> { request(1, POST, last: false) + request(1, [%w[a b]], last: false) }, :protocol_error],
    "§8.1 trailers with a pseudo field" => [-> { request(1, POST, last: false) + request(1, [[":path", "/"]]) }, :protocol_error],
    "§8.1.1 less than Content-Length" =>
      [-> { request(1, POST + [%w[content-length 3]], last: false) + data(1, "ab", last: true) }, :protocol_error],
    "§8.1.1 more than Content-Length" =>
      [-> { request(1, POST + [%w[content-length 1]], last: false) + data(1, "ab") }, :protocol_error],
    "§8.1.1 a Content-Length without a body" => [-> { request(1, POST + [%w[content-length 1]]) }, :protocol_error],
    "§8.1.1 two Content-Lengths" =>
      [-> { request(1, POST + [%w[content-length 1], %w[content-length 2]], last: false) }, :protocol_error],
    "§8.2 a name in capitals" => [-> { request(1, GET + [%w[X-Test a]]) }, :protocol_error],
    "§8.2.1 a line break in a value" => [-> { request(1, GET + [%W[x a\r\nb:c]]) }, :protocol_error],
    "§8.2.1 a space at the end of a value" => [-> { request(1, GET + [["x", "a "]]) }, :protocol_error],
    "§8.2.1 a space in a name" => [-> { request(1, GET + [["x y", "a"]]) }, :protocol_error],
    "§8.2.1 a colon in a name" => [-> { request(1, GET + [["x:y", "a"]]) }, :protocol_error],
    "§8.2.2 connection" => [-> { request(1, GET + [%w[connection close]]) }, :protocol_error],
    "§8.2.2 transfer-encoding" => [-> { request(1, POST + [%w[transfer-encoding chunked]], last: false) }, :protocol_error],
    "§8.2.2 te of something else than trailers" => [-> { request(1, GET + [%w[te gzip]]) }, :protocol_error],
    "§8.3 an unknown pseudo field" => [-> { request(1, GET + [[":test", "a"]]) }, :protocol_error],
    "§8.3 a pseudo field of answers" => [-> { request(1, GET + [[":status", "200"]]) }, :protocol_error],
    "§8.3 a pseudo field behind others" => [-> { request(1, [%w[a b]] + GET) }, :protocol_error],
    "§8.3 a pseudo field twice" => [-> { request(1, GET + [[":path", "/"]]) }, :protocol_error],
    "§8.3.1 no :method" => [-> { request(1, GET.drop(1)) }, :protocol_error],
    "§8.3.1 no :scheme" => [-> { request(1, GET - [[":scheme", "https"]]) }, :protocol_error],
    "§8.3.1 no :path" => [-> { request(1, GET - [[":path", "/"]]) }, :protocol_error],
    "§8.3.1 an empty :path" => [-> { request(1, GET - [[":path", "/"]] + [[":path", ""]]) }, :protocol_error],
    "§8.3.1 a whole URI as :path: its host is another than :authority" =>
      [-> { request(1, GET - [[":path", "/"]] + [[":path", "https://other.example/"]]) }, :protocol_error],
    "§8.3.1 a :path with a space: a request of its own by HTTP/1.1" =>
      [-> { request(1, GET - [[":path", "/"]] + [[":path", "/ HTTP/1.1"]]) }, :protocol_error],
    "§8.3.1 a :method that is no token" => [-> { request(1, [[":method", "GET /"], *GET.drop(1)]) }, :protocol_error],
    "§8.3.1 another host than :authority" => [-> { request(1, GET + [%w[host other.example]]) }, :protocol_error],
    "§8.3.1 a user in :authority" =>
      [-> { request(1, GET.map { |name, value| [name, name == ":authority" ? "a@b" : value] }) }, :protocol_error]
  }.freeze

  BROKEN.each do |name, (bytes, error)|
    define_method(:"test_breaks_the_connection: #{name}") do
      assert_raises(Plait::RemoteProtocolError) { @session.receive(instance_exec(&bytes)) }
      assert_equal(error, sent.find { |frame| frame.type == GOAWAY }&.error)
    end
  end

  MALFORMED.each do |name, (bytes, error)|
    define_method(:"test_resets_the_stream: #{name}") do
      @session.receive(instance_exec(&bytes) + request(7) + ping)
      frames = sent
      assert_equal(error, frames.find { |frame| frame.type == RST_STREAM && frame.id == 1 }&.error)
      assert(frames.any? { |frame| frame.type == PING }, "the connection goes on")
      assert_equal([], @host.finished[7], "and so do others on it")
      refute(frames.any? { |frame| frame.type == GOAWAY })
    end
  end

  # What is as it should be, though it may look strange.
  {
    "§4.1 a frame of an unknown type" => -> { frame(0xfe, 0xff, 0, "abc") },
    "§4.1 flags and bits without a meaning" => -> { frame(PING, 0xfe, 0x8000_0000, "12345678") },
    "§5.1 PRIORITY on an idle stream" => -> { frame(PRIORITY, 0, 9, [3, 5].pack("NC")) },
    "§6.5.2 an unknown setting" => -> { settings([0xf0, 1]) },
    "§6.5.3 a setting twice" => -> { settings([4, 100], [4, 1]) },
    "§6.7 an answer to no PING" => -> { frame(PING, ACK, 0, "invalid!") },
    "§7 RST_STREAM for an unknown reason" => -> { request(1) + reset(1, 0xff) },
    "§4.2 DATA of the largest size" => -> { request(1, POST, last: false) + data(1, "x" * 16_384) },
    "§6.9 a grant for a stream that has ended" => -> { request(1) + reset(1) + window(1, 9) },
    "§8.2.3 cookies one by one" => -> { request(1, GET + [%w[cookie a=1], %w[cookie b=2]]) },
    "§8.3.1 a host, and no :authority" => -> { request(1, GET - [[":authority", "example.com"]] + [%w[host a.example]]) }
  }.each do |name, bytes|
    define_method(:"test_takes: #{name}") do
      @session.receive(instance_exec(&bytes) + ping)
      refute(sent.any? { |frame| [RST_STREAM, GOAWAY].include?(frame.type) })
    end
  end

  def test_greetings
    ["GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", MAGIC + ping, MAGIC + frame(SETTINGS, ACK, 0)].each do |bytes|
      session = open_session(1024)
      assert_raises(Plait::RemoteProtocolError, bytes.inspect) { session.receive(bytes) }
    end
    session = open_session(1024)
    (hello + ping).each_char { |byte| session.receive(byte) }
    types = frames(session.output).map { |frame| [frame.type, frame.flags] }
    assert_equal([[SETTINGS, 0], [WINDOW_UPDATE, 0], [SETTINGS, ACK], [PING, ACK]], types)
  end

  def test_a_request_is_written_as_one_of_http1
    @session.receive(request(1, POST + [%w[x-a 1], %w[cookie a=1], %w[content-length 3], %w[cookie b=2]], last: false))
    @session.receive(data(1, "ab") + data(1, "c", last: true))
    assert_equal("POST / HTTP/1.1\r\nhost: example.com\r\nx-a: 1\r\ncookie: a=1; b=2\r\ncontent-length: 3\r\n\r\n",
                 @host.requests[1].to_http1)
    assert_equal(["abc", []], [@host.bodies[1], @host.finished[1]])
  end

  def test_padding_priorities_and_trailers
    @session.receive(frame(HEADERS, PADDED | PRIORITIZED | 4, 1, "\x03#{[3, 1].pack("NC")}#{block(POST)}abc".b))
    @session.receive(frame(DATA, PADDED, 1, "\x02hi\0\0") + request(1, [%w[x-sum 5]]))
    assert_equal(["hi", [%w[x-sum 5]]], [@host.bodies[1], @host.finished[1]])
    assert_match(/transfer-encoding: chunked/, @host.requests[1].to_http1)
  end

  def test_a_head_in_many_frames
    parts = block(GET).scan(/.{1,9}/mn)
    @session.receive(frame(HEADERS, END_STREAM, 1, parts.shift))
    parts.each_with_index { |part, i| @session.receive(frame(CONTINUATION, i == parts.size - 1 ? 4 : 0, 1, part)) }
    assert_equal([], @host.finished[1])
  end

  def test_no_more_streams_at_once_than_told
    (1..128).each { |number| @session.receive(request((number * 2) - 1)) }
    refute(sent.any? { |frame| frame.type == RST_STREAM })
    @session.receive(request(257))
    assert_equal([257, :refused_stream], sent.find { |frame| frame.type == RST_STREAM }.then { |frame| [frame.id, frame.error] })
    @session.receive(reset(1) + request(259))
    assert_equal([], @host.finished[259], "there is room again")
  end

  def test_nobody_sends_more_than_was_granted
    @session.receive(request(1, POST, last: false))
    17.times { @session.receive(data(1, "x" * 16_384)) } # 256 KiB are, and nobody takes them
    refused = sent.find { |frame| frame.type == RST_STREAM }
    assert_equal([1, :flow_control_error], [refused.id, refused.error])
  end

  def test_nobody_sends_more_than_was_granted_to_all
    error = assert_raises(Plait::RemoteProtocolError) do
      (1..9).step(2) { |id| @session.receive(request(id, POST, last: false) + (data(id, "x" * 16_384) * 16)) }
    end
    assert_match(/window of the connection/, error.message)
  end

  def test_what_was_taken_may_be_sent_again
    @session.receive(request(1, POST, last: false))
    200.times do
      @session.receive(data(1, "x" * 16_384))
      @session.taken(@host.stream(1), 16_384)
    end
    updates = sent.select { |frame| frame.type == WINDOW_UPDATE }
    assert_equal([0, 1], updates.map(&:id).uniq.sort)
    assert_equal(200 * 16_384, @host.bodies[1].bytesize)
  end

  def test_what_comes_for_a_stream_that_was_reset_is_thrown_away_and_given_back
    100.times do |number|
      id = (number * 2) + 1
      @session.receive(request(id, POST, last: false))
      @session.reset(@host.stream(id), :cancel)
      @session.receive(data(id, "x" * 16_384))
    end
    assert_empty(@host.bodies)
    refute(sent.any? { |frame| frame.type == GOAWAY })
  end

  def test_windows_of_answers
    @session.receive(settings([4, 10]) + request(1))
    stream = @host.stream(1)
    assert_equal(10, @session.room(stream))
    @session.send_head(stream, [[":status", "200"]], last: false)
    @session.send_data(stream, "x" * 10, last: false)
    assert_equal(0, @session.room(stream))
    @session.receive(settings([4, 5]))
    assert_equal(-5, @session.room(stream))
    @session.receive(window(1, 6))
    assert_equal(1, @session.room(stream))
    @session.send_data(stream, "y", last: true)
    assert_predicate(@session, :idle?)
  end

  def test_between_many_frames_others_have_their_turn
    turns = 0
    @session.receive(request(1, POST, last: false) + (data(1, "x") * 1_000)) { turns += 1 }
    assert_operator(turns, :>, 10)
    assert_equal(1_000, @host.bodies[1].size)
  end

  def test_a_large_head_is_cut_into_frames
    @session.receive(request(1))
    @session.send_head(@host.stream(1), [[":status", "200"], ["x", "a~" * 30_000]], last: true)
    heads = sent.select { |frame| [HEADERS, CONTINUATION].include?(frame.type) }
    assert_operator(heads.size, :>, 1)
    assert(heads.all? { |frame| frame.payload.bytesize <= 16_384 })
    assert_equal([*([0] * (heads.size - 1)), 4], heads.map { |frame| frame.flags & 4 })
    fields = HTTP2::Header::Decompressor.new.decode(heads.map(&:payload).join)
    assert_equal([[":status", "200"], ["x", "a~" * 30_000]], fields)
  end

  def test_an_answer_before_the_end_of_its_request
    @session.receive(request(1, POST, last: false))
    @session.send_head(@host.stream(1), [[":status", "413"]], last: true)
    assert_equal([[HEADERS, nil], [RST_STREAM, :no_error]],
                 sent.map { |frame| [frame.type, (frame.error if frame.type == RST_STREAM)] })
    @session.receive(data(1, "was on its way"))
    assert_empty(sent)
  end

  def test_after_goaway_what_was_begun_goes_on
    @session.receive(request(1, POST, last: false))
    @session.drain
    @session.receive(request(3) + data(1, "a", last: true))
    goaway, refused = sent
    assert_equal([1, :no_error], [goaway.payload.unpack1("N"), goaway.error])
    assert_equal([3, :refused_stream], [refused.id, refused.error])
    assert_equal(["a", []], [@host.bodies[1], @host.finished[1]])
  end

  # CVE-2023-44487 and its kin: each ends with ENHANCE_YOUR_CALM, long before it has cost much.
  {
    "requests that are reset at once" => ->(i) { request((i * 2) + 1) + reset((i * 2) + 1) },
    "requests that we reset" => ->(i) { request((i * 2) + 1) + window((i * 2) + 1, 0) },
    "requests that are malformed" => ->(i) { request((i * 2) + 1, [%w[a b]]) },
    "pings" => ->(_) { ping }, "settings" => ->(_) { settings([3, 1]) },
    "priorities" => ->(i) { frame(PRIORITY, 0, i + 1, [0, 1].pack("NC")) },
    "frames of unknown types" => ->(_) { frame(99, 0, 0) },
    "grants" => ->(_) { window(0, 1) },
    "empty data" => ->(i) { (i.zero? ? request(1, POST, last: false) : "".b) + data(1, "") },
    "continuations" => ->(i) { frame(i.zero? ? HEADERS : CONTINUATION, 0, 1, "") },
    "a head without an end" => ->(i) { frame(i.zero? ? HEADERS : CONTINUATION, 0, 1, "\0\x01a\x01b" * 3_000) }
  }.each do |name, bytes|
    define_method(:"test_a_flood_of_#{name.tr(" ", "_")}") do
      assert_raises(Plait::RemoteProtocolError) { 1_500.times { |i| @session.receive(instance_exec(i, &bytes)) } }
      assert_equal(:enhance_your_calm, sent.last.error)
    end
  end

  # A block of one byte a field, of which each is as large as the table: 64 KiB become 256 MiB.
  # Whose square would be the time that it takes.
  def test_a_number_without_an_end
    began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    head = "\xff".b * 60_000
    parts = Array.new(3) { head.slice!(0, 16_384) } << head
    frames = [frame(HEADERS, 1, 1, parts.shift)]
    parts.each_with_index { |part, at| frames << frame(CONTINUATION, at == 2 ? 4 : 0, 1, part) }
    assert_raises(Plait::RemoteProtocolError) { @session.receive(frames.join) }
    assert_equal(:compression_error, sent.find { |frame| frame.type == GOAWAY }&.error)
    assert_operator(Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began, :<, 0.3, "seconds of CPU")
  end

  def test_a_bomb_of_fields
    entry = "\x40\x01a\x7f\xa1\x1e".b + ("x" * 4_000)
    bomb = entry + ("\xbe".b * 12_000)
    error = assert_raises(Plait::RemoteProtocolError) { @session.receive(frame(HEADERS, 5, 1, bomb)) }
    assert_match(/header list exceeds/, error.message)
  end

  def test_streams_that_come_and_go_are_no_flood
    3_000.times do |number|
      id = (number * 2) + 1
      @session.receive(request(id) + (number % 10 == 5 ? reset(id) : "".b))
      @session.send_head(@host.stream(id), [[":status", "200"]], last: true) unless number % 10 == 5
    end
    assert_predicate(@session, :idle?)
  end

  def test_bytes_may_come_in_two_parts_anywhere
    bytes = conversation.delete_suffix(frame(GOAWAY, 0, 0, "\0" * 8))
    whole = Host.new
    expected = open_session(64 * 1024, whole).tap { |session| session.receive(bytes) }.output
    (1...bytes.bytesize).each do |at|
      session = open_session(64 * 1024, parts = Host.new)
      [bytes.byteslice(0, at), bytes.byteslice(at..)].each { |part| session.receive(part) }
      assert_equal([expected, whole.bodies, whole.finished], [session.output, parts.bodies, parts.finished], "at #{at}")
    end
  end

  # The session raises no other error than Violation.
  def test_mutated_frames
    random = Random.new(Integer(ENV.fetch("SEED", Random.new_seed % 100_000)))
    2_000.times do |round|
      bytes = conversation
      random.rand(1..4).times { bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) }
      session = open_session(64 * 1024, Host.new)
      session.receive(bytes)
    rescue Plait::RemoteProtocolError
      nil
    rescue StandardError => e
      flunk("round #{round} of SEED=#{random.seed}: #{e.full_message} #{bytes.inspect}")
    end
    pass
  end

  private

  def open_session(head, host = @host) = Server.new(host, head: head, clock: -> { @now })

  # Frames that went out since it was asked last.
  def sent = frames(@session.output)

  def conversation
    hello([3, 100], [4, 70_000]) + request(1, POST + [%w[x-a b]], last: false) + data(1, "abc") + window(1, 100) + ping +
      frame(HEADERS, PRIORITIZED | PADDED | 4, 3, "\x02#{[1, 1].pack("NC")}#{block(POST)}ab".b) + request(1, [%w[x y]]) +
      frame(HEADERS, 1, 5, "\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff".b) + frame(CONTINUATION, 4, 5) +
      reset(3) + frame(GOAWAY, 0, 0, "\0" * 8)
  end
end
