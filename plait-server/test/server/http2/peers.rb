# frozen_string_literal: true

require "support/raw_http2"

# What peers do, and what becomes of them and of the others.
module HTTP2Peers
  include RawHTTP2

  def test_a_reset_stream_cancels_nothing_else
    arrived = Thread::Queue.new
    gate = Thread::Queue.new
    serve { |env| (arrived << env) && gate.pop && [200, {}, ["fine"]] }
    raw = greet.write(request(1) + request(3))
    2.times { arrived.pop }
    raw.write(reset(1) + request(5))
    arrived.pop
    3.times { gate << true }
    assert_equal([3, 5], Array.new(2) { raw.next(DATA).id }.sort)
  end

  def test_an_app_that_streams_hears_of_a_reset
    heard = Thread::Queue.new
    serve(lint: false) do
      [200, {}, lambda do |stream|
        loop { stream.write("x" * 1000) && sleep(0.01) }
      rescue StandardError => e
        heard << e
        raise
      end]
    end
    raw = greet.write(request(1))
    raw.next(DATA)
    raw.write(reset(1) + request(3))
    refute_nil(heard.pop)
    assert_equal(3, raw.next(HEADERS).id)
  end

  def test_who_breaks_the_rules_is_told_and_gone
    serve { [200, {}, ["fine"]] }
    raw = greet.write(data(0, "x"))
    assert_equal(:protocol_error, raw.next(GOAWAY).error)
    assert_nil(raw.next)
    assert_equal("fine", client.get("/").body)
  end

  def test_at_the_end_what_was_begun_is_answered
    arrived = Thread::Queue.new
    gate = Thread::Queue.new
    serve { (arrived << true) && gate.pop && [200, {}, ["fine"]] }
    idle = greet
    idle.next(SETTINGS)
    raw = greet.write(request(1))
    arrived.pop
    @server.stop(within: 100)
    assert_equal([0, :no_error], idle.next(GOAWAY).then { |frame| [frame.payload.unpack1("N"), frame.error] })
    assert_equal([1, :no_error], raw.next(GOAWAY).then { |frame| [frame.payload.unpack1("N"), frame.error] })
    gate << true
    assert_equal("fine", raw.next(DATA).payload)
    assert_nil(raw.next)
    assert(@thread.join(60))
  end

  # RFC 9113 §3.3
  def test_without_tls_who_knows_it_before_may_begin_with_it
    serve_plain { |env| [200, {}, [env.values_at("SERVER_PROTOCOL", "rack.url_scheme", "REMOTE_ADDR").join(" ")]] }
    plain = -> { TCPSocket.new("127.0.0.1", port).tap { |socket| @sockets << socket } }
    raw = RawConnection.new(plain.call)
    (hello + request(1)).each_char { |byte| raw.write(byte) }
    assert_equal("HTTP/2 http 127.0.0.1", raw.next(DATA).payload)
    other = plain.call
    2.times do
      other.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      text = +""
      text << other.readpartial(4096) until text.end_with?("HTTP/1.1 http 127.0.0.1")
    end
    odd = plain.call
    odd.write("PRI * HTTP/2.1\r\n\r\n")
    assert_match(%r{\AHTTP/1.1 (400|505) }, odd.read)
  end

  # The one sends nothing, and the other a beginning that may become either protocol's.
  def test_those_who_do_not_say_what_they_speak_keep_nobody_out
    app = ->(_) { [200, {}, ["fine"]] }
    start(app, head_timeout: 300, connections: 5_000) { |server| server.listen("tcp://127.0.0.1:0", http2: true) }
    number = 0
    plain = -> { Socket.tcp("127.0.0.1", port, "127.0.0.#{2 + ((number += 1) / 500)}").tap { |socket| @sockets << socket } }
    (Plait::Server.const_get(:Acceptor)::Cleartext::SILENT + 8).times { |one| plain.call.write("P" * (one % 2)) }
    assert_equal("fine", RawConnection.new(plain.call).write(hello + request(1)).next(DATA).payload)
  end

  def test_those_who_leave_without_a_word_take_nobody_along
    start(->(_) { [200, {}, ["fine"]] }, { head_timeout: 300 }) { |server| server.listen("tcp://127.0.0.1:0", http2: true) }
    leaving = Socket.tcp("127.0.0.1", port)
    leaving.close_write
    assert_equal("", leaving.read)
    leaving.close
    @sockets << (plain = Socket.tcp("127.0.0.1", port))
    assert_equal("fine", RawConnection.new(plain).write(hello + request(1)).next(DATA).payload)
  end

  def test_nothing_is_left_behind
    assert_no_leaks do
      serve { [200, {}, ["fine"]] }
      raw = greet.write(request(1) + request(3, POST, last: false))
      raw.next(DATA)
      client.get("/")
      client.close
      @sockets.each(&:close)
      @server.stop(within: 1)
      assert(@thread.join(60))
    end
  end

  # Bytes of a conversation, changed at random: the worker lives, and so do others' connections.
  def test_curl
    features = IO.popen([HTTP2Cases::CURL.path!, "--version"], &:read)
    skip("this curl knows nothing of HTTP/2: #{HTTP2Cases::CURL.install_command}") unless features.include?("HTTP2")
    serve { |env| [200, {}, [env["SERVER_PROTOCOL"], env["rack.input"].read]] }
    command = [HTTP2Cases::CURL.path, "-sk", "--http2", "--data-binary", "@-", "-w", " %{http_version}", url]
    out = IO.popen(command, "r+b") do |pipe|
      pipe.write("x" * 1_000_000)
      pipe.close_write
      pipe.read
    end
    assert_equal("HTTP/2#{"x" * 1_000_000} 2", out)
  end
end
