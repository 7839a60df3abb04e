# frozen_string_literal: true

require "support/raw_http2"

# What nobody can take more of than his share.
module HTTP2Bounds
  include RawHTTP2

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

  # Bytes one by one, as many as may be sent before somebody has taken them: most of a second's work. The peers are a process of
  # their own, since among the server's threads each answer would wait for a time slice; and where the machine itself has held
  # them up, they try anew.
  def test_who_sends_very_many_frames_holds_nobody_up
    serve_plain { |env| [200, {}, [env["rack.input"].read.bytesize.to_s]] }
    peers = fork { exit!(10.times.any? { others_are_answered_first? }) }
    assert_predicate(Process.wait2(peers).last, :success?, "the others have waited for it")
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

  def test_who_says_nothing_is_gone
    serve(head_timeout: 6, idle_timeout: 6) { [200, {}, ["fine"]] }
    silent = secure
    idle = greet.write(request(1))
    half = greet.write(frame(HEADERS, 0, 1, ""))
    assert_equal("fine", idle.next(DATA).payload)
    assert_equal(:no_error, idle.next(GOAWAY).error)
    [idle, half].each { |raw| wait_until { raw.next.nil? } }
    RawConnection.new(silent).then { |raw| wait_until { raw.next.nil? } }
  end

  # The app, and not the peer, has taken longer than the peer may take.
  def test_a_slow_app_ends_no_connection
    serve(write_timeout: 3, idle_timeout: 3, head_timeout: 3) { |env| [200, {}, [env["PATH_INFO"]].tap { sleep(4) }] }
    raw = greet
    [1, 3].each { |id| assert_equal("/#{id}", raw.write(request(id, path("/#{id}"))).next(DATA).payload) }
  end

  def test_no_more_connections_than_allowed
    serve(connections: 2) { [200, {}, ["fine"]] }
    first, = Array.new(2) { secure.tap { |socket| RawConnection.new(socket).write(hello).next(SETTINGS) } }
    third = Thread.new { RawConnection.new(secure).write(hello + request(1)).next(DATA).payload }
    refute(third.join(0.3), "it waits in the kernel")
    first.close
    assert_equal("fine", third.value)
  end

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

  private

  # @return [Boolean] that five requests of a peer are answered while another one's very many frames are read
  def others_are_answered_first?
    flood, other = Array.new(2) { RawConnection.new(TCPSocket.new("127.0.0.1", port)).write(hello) }
    flood.write(request(1, POST, last: false))
    over = false
    flooding = Thread.new do
      flood.write(data(1, "x") * 100_000).write(data(1, "", last: true))
      flood.next(DATA).payload.tap { over = true }
    end
    zeros = (1..9).step(2).map { |id| other.write(request(id)).next(DATA).payload }
    first = !over
    raise "not all of it has come" unless flooding.value == "100000" && zeros.uniq == ["0"]

    first
  end
end
