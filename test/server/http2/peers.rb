# frozen_string_literal: true

require_relative "raw"

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

  def test_a_peer_that_takes_slowly_gets_all_and_holds_nobody_up
    serve { |env| [200, {}, [env["PATH_INFO"] == "/slow" ? HTTP2Cases::MEGABYTES : "quick"]] }
    raw = greet([4, 1000]).write(request(1, path("/slow")) + request(3, path("/quick")))
    got = { 1 => "".b, 3 => "".b }
    until got[1].bytesize == HTTP2Cases::MEGABYTES.bytesize
      frame = raw.next(DATA)
      got[frame.id] << frame.payload
      raw.write(window(1, 200_000) + window(0, 200_000)) if frame.id == 1 && got[1].bytesize % 1000 == 0
      break if got[3] == "quick" && got[1].bytesize > 400_000
    end
    assert_equal(["quick", HTTP2Cases::MEGABYTES.byteslice(0, got[1].bytesize)], got.values_at(3, 1))
  end

  def test_streams_share_what_the_peer_takes
    serve { [200, {}, [HTTP2Cases::MEGABYTES]] }
    raw = greet([4, 1 << 20]).write((0...16).map { |number| request((number * 2) + 1) }.join)
    got = Hash.new(0)
    until got.size == 16 || got.values.sum > 8_000_000
      frame = raw.next(DATA)
      got[frame.id] += frame.payload.bytesize
      raw.write(window(0, frame.payload.bytesize)) unless frame.payload.empty?
    end
    assert_equal(16, got.size, "the first ones are served, and the others wait: #{got}")
    assert_operator(got.values.max, :<, 2_000_000)
  end

  def test_rapid_resets_end_the_connection_and_nothing_else
    serve { [200, {}, ["fine"]] }
    raw = greet
    (1..4_001).step(2) { |id| raw.write(request(id) + reset(id)) }
    goaway = raw.next(GOAWAY)
    assert_equal(:enhance_your_calm, goaway.error)
    assert_equal("fine", client.get("/").body)
  rescue Errno::EPIPE, Errno::ECONNRESET, OpenSSL::SSL::SSLError
    assert_equal("fine", client.get("/").body) # it did not even listen to all of it
  end

  def test_who_breaks_the_rules_is_told_and_gone
    serve { [200, {}, ["fine"]] }
    raw = greet.write(data(0, "x"))
    assert_equal(:protocol_error, raw.next(GOAWAY).error)
    assert_nil(raw.next)
    assert_equal("fine", client.get("/").body)
  end

  def test_who_says_nothing_is_gone
    serve(head_timeout: 0.3, idle_timeout: 0.3) { [200, {}, ["fine"]] }
    silent = secure
    idle = greet.write(request(1))
    half = greet.write(frame(HEADERS, 0, 1, ""))
    assert_equal("fine", idle.next(DATA).payload)
    assert_equal(:no_error, idle.next(GOAWAY).error)
    [idle, half].each { |raw| wait_until { raw.next.nil? } }
    RawConnection.new(silent).then { |raw| wait_until { raw.next.nil? } }
  end

  def test_at_the_end_what_was_begun_is_answered
    arrived = Thread::Queue.new
    gate = Thread::Queue.new
    serve { (arrived << true) && gate.pop && [200, {}, ["fine"]] }
    idle = greet
    idle.next(SETTINGS)
    raw = greet.write(request(1))
    arrived.pop
    @server.stop(within: 20)
    assert_equal([0, :no_error], idle.next(GOAWAY).then { |frame| [frame.payload.unpack1("N"), frame.error] })
    assert_equal([1, :no_error], raw.next(GOAWAY).then { |frame| [frame.payload.unpack1("N"), frame.error] })
    gate << true
    assert_equal("fine", raw.next(DATA).payload)
    assert_nil(raw.next)
    assert(@thread.join(20))
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

  def test_nothing_is_left_behind
    assert_no_leaks do
      serve { [200, {}, ["fine"]] }
      raw = greet.write(request(1) + request(3, POST, last: false))
      raw.next(DATA)
      client.get("/")
      client.close
      @sockets.each(&:close)
      @server.stop(within: 1)
      assert(@thread.join(20))
    end
  end

  # Bytes of a conversation, changed at random: the worker lives, and so do others' connections.
  def test_mutated_frames_harm_nobody_else
    serve { |env| [200, {}, [env["rack.input"].read]] }
    random = Random.new(Integer(ENV.fetch("SEED", Random.new_seed % 100_000)))
    bytes = hello + request(1, POST, last: false) + data(1, "abc") + ping + request(3) + window(1, 9) + request(1, [%w[x y]])
    60.times do
      mutated = bytes.dup.tap { |copy| 3.times { copy.setbyte(24 + random.rand(copy.bytesize - 24), random.rand(256)) } }
      secure.tap { |socket| socket.write(mutated) rescue nil }.close # rubocop:disable Style/RescueModifier -- gone: so be it
    end
    assert_equal("still there", client.post("/", body: "still there").body, "SEED=#{random.seed}")
  end

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
