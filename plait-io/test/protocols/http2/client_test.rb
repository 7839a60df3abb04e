# frozen_string_literal: true

require "test_helper"
require "plait"
require "plait/protocols/http2/client"
require "plait/protocols/http2/server"
require "support/raw_http2"

# What a client keeps of RFC 9113 where it differs from a server, and both together.
class HTTP2ClientTest < Minitest::Test
  include RawHTTP2

  HTTP2 = Plait.const_get(:Protocols)::HTTP2
  ANSWER = "\x88".b # of the static table: status 200

  # Keeps its calls.
  class Host
    attr_reader :events

    def initialize = @events = []
    def head(stream, fields, last) = @events << [:head, stream.id, fields, last]
    def data(stream, bytes) = @events << [:data, stream.id, bytes]
    def finish(stream, _) = @events << [:finish, stream.id]
    def reset(stream, reason) = @events << [:reset, stream.id, reason]
    def granted(_) = nil
    def go_away(last, error, words) = @events << [:go_away, last, error, words]
  end

  # Answers each request with its method and body.
  class Echo
    attr_writer :session

    def initialize = @bodies = Hash.new { |bodies, id| bodies[id] = +"".b }
    def request(stream, head) = @bodies[stream.id] << head.request_method
    def data(stream, bytes) = (@bodies[stream.id] << bytes) && @session.taken(stream, bytes.bytesize)
    def reset(*) = nil
    def granted(_) = nil

    def finish(stream, _)
      @session.send_head(stream, [%w[:status 200]], last: false)
      @session.send_data(stream, @bodies.delete(stream.id), last: true)
    end
  end

  def setup
    @host = Host.new
    @now = 0.0
    @client = HTTP2::Client.new(@host, head: 4_000, clock: -> { @now })
    assert_equal(MAGIC, @client.output.slice!(0, MAGIC.bytesize))
    sent
  end

  def test_a_request_and_its_answer
    greeted
    stream = get
    assert_equal([HEADERS, END_STREAM | END_HEADERS, 1], sent.first.to_a.first(3))
    @client.receive(frame(HEADERS, END_HEADERS, 1, ANSWER) + data(1, "ab") + data(1, "c", last: true))
    assert_equal([[:head, 1, [%w[:status 200]], false], [:data, 1, "ab"], [:data, 1, "c"], [:finish, 1]], @host.events)
    assert_predicate(@client, :idle?)
    refute_predicate(stream, :receiving?)
  end

  def test_one_stream_before_the_settings_then_as_many_as_the_peer_allows
    assert_predicate(@client, :place?)
    get
    refute_predicate(@client, :place?)
    @client.receive(settings([3, 2]))
    assert_predicate(@client, :place?)
    get
    refute_predicate(@client, :place?)
    @client.receive(frame(HEADERS, 5, 1, ANSWER))
    assert_predicate(@client, :place?)
  end

  # What breaks the connection: bytes behind the greeting and one request => the error of GOAWAY.
  {
    "an answer on a stream that was never opened" => [-> { frame(HEADERS, 5, 3, ANSWER) }, :protocol_error],
    "a stream of the peer's own" => [-> { frame(HEADERS, 5, 2, ANSWER) }, :protocol_error],
    "PUSH_PROMISE" => [-> { frame(PUSH_PROMISE, 4, 1, "\0\0\0\2") }, :protocol_error],
    "DATA on a stream that was never opened" => [-> { data(3, "x") }, :protocol_error],
    "DATA behind the end" => [-> { frame(HEADERS, 5, 1, ANSWER) + data(1, "x") }, :stream_closed],
    "a window of 2^31" => [-> { window(0, (1 << 31) - 1) }, :flow_control_error],
    "an index that is not in the table" => [-> { frame(HEADERS, 5, 1, "\xc6".b) }, :compression_error],
    "a frame that is too large" => [-> { frame(DATA, 0, 1, "", size: 16_385) }, :frame_size_error]
  }.each do |name, (bytes, error)|
    define_method(:"test_breaks_the_connection: #{name}") do
      greeted
      get
      assert_raises(HTTP2::Violation) { @client.receive(instance_exec(&bytes)) }
      assert_equal(error, sent.find { |frame| frame.type == GOAWAY }&.error)
    end
  end

  # Which a host hears of, and what it is.
  def test_a_mistake_on_one_stream
    greeted
    2.times { get }
    sent
    @client.receive(window(1, 0) + frame(HEADERS, 5, 3, ANSWER))
    assert_equal([1, :protocol_error], sent.find { |frame| frame.type == RST_STREAM }.then { |frame| [frame.id, frame.error] })
    assert_match(/WINDOW_UPDATE of 0/, @host.events.first.last.message)
    assert_equal([:finish, 3], @host.events.last)
  end

  def test_the_peer_resets_a_stream
    greeted
    get
    @client.receive(reset(1, 7))
    @client.receive(frame(GOAWAY, 0, 0, [0, 99].pack("NN") + "bye"))
    assert_equal([[:reset, 1, :refused_stream], [:go_away, 0, :"(99)", "bye"]], @host.events)
    assert_predicate(@client, :leaving?)
    refute_predicate(@client, :place?)
  end

  def test_what_still_comes_for_a_stream_that_was_reset
    greeted
    40.times do
      stream = get
      @client.reset(stream, :cancel)
      @client.receive(frame(HEADERS, 4, stream.id, ANSWER) + data(stream.id, "x" * 16_000) + data(stream.id, "", last: true))
    end
    assert(sent.none? { |frame| frame.type == GOAWAY })
    assert_equal([:reset], @host.events.map(&:first).uniq)
  end

  # A body that is not taken closes its own window alone.
  def test_windows
    greeted
    2.times { get }
    sent
    @client.receive(frame(HEADERS, 4, 1, ANSWER) + frame(HEADERS, 4, 3, ANSWER))
    64.times { @client.receive(data(1, "x" * 16_384)) }
    assert_equal([0], sent.select { |frame| frame.type == WINDOW_UPDATE }.map(&:id).uniq)
    @client.receive(data(3, "others go on"))
    @client.receive(data(1, "x"))
    assert_equal(:flow_control_error, sent.find { |frame| frame.type == RST_STREAM }.error)
  end

  # Each costs a call of nothing, and ends with ENHANCE_YOUR_CALM; time gives back.
  {
    "pings" => ->(_) { ping }, "settings" => ->(_) { settings([3, 1]) }, "grants" => ->(_) { window(0, 1) },
    "priorities" => ->(i) { data(1, "x") + frame(PRIORITY, 0, i + 1, [0, 1].pack("NC")) },
    "empty_data" => ->(_) { data(1, "") }, "empty_heads" => ->(_) { frame(HEADERS, 4, 1, "") },
    "frames_of_unknown_types" => ->(_) { frame(99, 0, 0) }
  }.each do |name, bytes|
    define_method(:"test_a_flood_of_#{name}") do
      greeted
      get
      @client.receive(frame(HEADERS, 4, 1, ANSWER))
      assert_raises(HTTP2::Violation) { 1_500.times { |i| @client.receive(instance_exec(i, &bytes)) } }
      assert_equal(:enhance_your_calm, sent.last.error)
    end
  end

  def test_a_ping_now_and_then_is_no_flood
    greeted
    3_000.times do
      @now += 0.1
      @client.receive(ping)
    end
    assert_equal(3_000, sent.size)
  end

  # As Go's server does, which grants each small frame once the app has read it.
  def test_an_upload_in_small_pieces_that_the_peer_grants_late
    greeted
    stream = @client.open(nil, POST, last: false)
    3_000.times { @client.send_data(stream, "x" * 10, last: false) }
    @client.receive((window(1, 10) + window(0, 10)) * 3_000)
    assert_raises(HTTP2::Violation) { @client.receive(window(0, 10) * 1_500) }
  end

  # A peer that grants few bytes at a time is slow, and no flood.
  def test_a_long_upload_by_small_grants
    greeted([4, 1_000])
    stream = @client.open(nil, POST, last: false)
    5_000.times do
      @client.send_data(stream, "x" * 1_000, last: false)
      @client.receive(window(1, 1_000) + window(0, 1_000))
      @client.output.clear
    end
    assert_equal(1_000, @client.room(stream))
  end

  # Both sides, each byte apart and then all at once.
  def test_client_and_server_understand_each_other
    [1, 3, 100_000].each do |size|
      @host = Host.new
      client, server = pair
      streams = Array.new(5) do |i|
        stream = client.open(nil, i.even? ? GET : POST, last: i.even?)
        client.send_data(stream, "body #{i}", last: true) if i.odd?
        stream.id
      end
      exchange(client, server, size)
      bodies = @host.events.filter_map { |event| event.last if event[0] == :data }
      assert_equal(["GET", "POSTbody 1", "GET", "POSTbody 3", "GET"], bodies)
      assert_equal(streams, @host.events.filter_map { |event| event[1] if event[0] == :finish })
      assert([client, server].all?(&:idle?))
    end
  end

  def test_large_heads_go_in_several_frames
    client, server = pair(head: 100_000)
    client.open(nil, GET + [["x-long", "~" * 50_000]], last: true)
    exchange(client, server, 1_000)
    assert_equal([[:data, 1, "GET"], [:finish, 1]], @host.events.last(2))
  end

  def test_bytes_may_come_in_two_parts_anywhere
    bytes = conversation
    events, output = nil
    (0...bytes.bytesize).each do |at|
      setup
      3.times { get }
      [bytes.byteslice(0, at), bytes.byteslice(at..)].each { |part| @client.receive(part) }
      assert_equal([events ||= @host.events, output ||= @client.output], [@host.events, @client.output], "at #{at}")
    end
    assert_includes(events, [:finish, 1])
  end

  # The session raises no other error than Violation.
  def test_mutated_frames
    random = Random.new(seed = Integer(ENV.fetch("SEED", Random.new_seed % 100_000)))
    2_000.times do
      bytes = conversation
      random.rand(1..4).times { bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) }
      setup
      3.times { get }
      @client.receive(bytes)
    rescue HTTP2::Violation
      nil
    rescue StandardError => e
      flunk("SEED=#{seed}: #{e.full_message} #{bytes.inspect}")
    end
    pass
  end

  private

  def get = @client.open(nil, GET, last: true)

  def greeted(*pairs)
    @client.receive(settings(*pairs))
    sent
  end

  def sent = frames(@client.output)

  def pair(head: 4_000)
    echo = Echo.new
    server = HTTP2::Server.new(echo, head: head, clock: -> { 0.0 })
    echo.session = server
    [HTTP2::Client.new(@host, head: head, clock: -> { 0.0 }), server]
  end

  # @param size [Integer] bytes that come at once
  def exchange(*sessions, size)
    until sessions.all? { |session| session.output.empty? }
      sessions.each_with_index do |session, i|
        bytes = session.output.slice!(0, session.output.bytesize)
        (0...bytes.bytesize).step(size) { |at| sessions[1 - i].receive(bytes.byteslice(at, size)) }
      end
    end
  end

  def conversation
    settings([3, 100], [4, 70_000]) + frame(HEADERS, 4, 1, ANSWER) + data(1, "abc") + window(1, 100) + ping +
      frame(HEADERS, PRIORITIZED | PADDED | 4, 3, "\x02#{[1, 1].pack("NC")}\x88ab".b) + data(1, "d", last: true) +
      frame(HEADERS, 1, 5,
            "\x88\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff".b) +
      frame(CONTINUATION, 4, 5) + reset(3) + frame(GOAWAY, 0, 0, "\0" * 8)
  end
end
