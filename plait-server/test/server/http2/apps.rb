# frozen_string_literal: true

require "support/raw_http2"

# What apps and clients see of HTTP/2.
module HTTP2Apps
  include RawHTTP2

  def test_the_env
    serve { |env| [200, { "content-type" => "text/plain" }, [env.slice(*%w[SERVER_PROTOCOL REQUEST_METHOD PATH_INFO QUERY_STRING HTTP_HOST HTTP_COOKIE rack.url_scheme]).inspect, env["rack.input"].read]] } # rubocop:disable Layout/LineLength
    answer = client.post("/a/b?c=d", body: "body", headers: { "Cookie" => "a=1" })
    assert_equal("2", answer.version)
    expected = { "REQUEST_METHOD" => "POST", "PATH_INFO" => "/a/b", "QUERY_STRING" => "c=d", "SERVER_PROTOCOL" => "HTTP/2",
                 "HTTP_HOST" => "localhost:#{port}", "HTTP_COOKIE" => "a=1", "rack.url_scheme" => "https" }
    assert_equal(expected, eval(answer.body[/\{.*\}/])) # rubocop:disable Security/Eval -- our own Hash
    assert(answer.body.end_with?("}body"))
  end

  def test_bodies_of_all_kinds
    serve do |env|
      case env["PATH_INFO"]
      when "/array" then [200, {}, [HTTP2Cases::MEGABYTES]]
      when "/each" then [200, {}, HTTP2Cases::MEGABYTES.scan(/.{1,70000}/mn)]
      when "/call" then [200, {}, ->(stream) { (stream << HTTP2Cases::MEGABYTES).close }]
      when "/empty" then [204, {}, []]
      else [200, { "content-length" => "5" }, env["REQUEST_METHOD"] == "HEAD" ? [] : ["hello"]]
      end
    end
    %w[/array /each /call].each { |path| assert_equal(HTTP2Cases::MEGABYTES, client.get(path).body, path) }
    assert_equal([204, ""], client.get("/empty").then { |answer| [answer.status, answer.body] })
    assert_equal(["5", ""], client.head("/").then { |answer| [answer["content-length"], answer.body] })
  end

  def test_a_large_request
    serve { |env| [200, {}, [env["rack.input"].read]] }
    assert_equal(HTTP2Cases::MEGABYTES, client.post("/", body: HTTP2Cases::MEGABYTES).body)
  end

  def test_many_streams_at_once
    arrived = Thread::Queue.new
    gate = Thread::Queue.new
    serve(limit: 64) do |env|
      arrived << true
      gate.pop
      [200, {}, [env["PATH_INFO"]]]
    end
    caller = client
    callers = Array.new(40) { |number| Thread.new { caller.get("/#{number}").body } }
    40.times { arrived.pop } # all are in the app: one connection does not do them one after another
    40.times { gate << true }
    assert_equal((0...40).map { |number| "/#{number}" }, callers.map(&:value))
  end

  def test_answers_arrive_while_they_are_made
    gate = Thread::Queue.new
    serve { [200, {}, ->(stream) { stream.write("begun") && gate.pop && stream.write("ended") && stream.close }] }
    parts = []
    client.get("/") do |answer|
      answer.each_piece do |part|
        parts << part
        gate << true if parts.size == 1
      end
    end
    assert_equal("begunended", parts.join)
  end

  def test_an_app_that_fails_spoils_its_own_stream_only
    serve(lint: false) do |env|
      raise "on purpose" if env["PATH_INFO"] == "/raise"

      [200, {}, env["PATH_INFO"] == "/cut" ? Enumerator.new { |parts| (parts << "a") && raise("on purpose") } : ["fine"]]
    end
    assert_equal(500, client.get("/raise").status)
    assert_raises(Plait::Error) { client.get("/cut", retries: 0) }
    assert_equal("fine", client.get("/").body)
  end

  def test_bounds_are_those_of_every_request
    serve(limits: { body: 1000, head: 8000 }) { [200, {}, ["fine"]] }
    assert_equal(413, client.post("/", body: "x" * 1001).status)
    assert_equal(431, client.get("/", headers: { "X-Long" => "x" * 7_999 }).status)
    assert_equal("fine", client.get("/").body)
  end

  # HTTP/2 has no codings of transfer: what would end with the connection has an end of its own there.
  def test_codings_of_the_app
    half = Enumerator.new { |parts| (parts << "a") && raise("on purpose") }
    serve(lint: false) do |env|
      coding = env["PATH_INFO"] == "/gzip" ? "gzip" : "identity"
      [200, { "transfer-encoding" => coding }, env["PATH_INFO"] == "/cut" ? half : %w[who le].each]
    end
    assert_equal("whole", client.get("/whole").body)
    assert_raises(Plait::Error) { client.get("/cut", retries: 0) }
    assert_equal(500, client.get("/gzip").status)
  end

  # An app that codes its body itself may have trailers behind it.
  def test_trailers_of_the_app
    serve(lint: false) { [200, { "transfer-encoding" => "chunked" }, ["4\r\nbody\r\n0\r\nX-Sum: 7\r\n\r\n"]] }
    answer = client.get("/")
    assert_equal(["body", "7"], [answer.body, answer.trailers.to_h.transform_keys(&:downcase)["x-sum"]])
  end

  def test_early_hints
    serve(early_hints: true) do |env|
      env["rack.early_hints"].call("link" => "</a.css>")
      [200, {}, ["x"]]
    end
    raw = greet.write(request(1))
    heads = Array.new(2) { raw.next(HEADERS) }
    decompressor = Plait.const_get(:Protocols)::HPACK::Decompressor.new(4_000)
    assert_equal(%w[103 200], heads.map { |frame| decompressor.decode(frame.payload).to_h[":status"] })
  end

  def test_a_stream_that_an_app_takes_over
    serve do |env|
      next [200, {}, ["fine"]] unless env["PATH_INFO"] == "/take"

      env["rack.hijack"].call.tap { |io| io.write("HTTP/1.1 201 Created\r\ncontent-length: 4\r\n\r\nmine") }.close
      [200, {}, []]
    end
    assert_equal([201, "mine"], client.get("/take").then { |answer| [answer.status, answer.body] })
    assert_equal("fine", client.get("/").body)
  end

  # Without a goodbye a client can't know whether it was the server who has ended the connection.
  def test_the_goodbye
    serve { [200, {}, []] }
    socket = secure
    connection = RawConnection.new(socket).write(hello)
    connection.next(SETTINGS)
    @server.stop(within: 20)
    connection.next while connection.next
    assert_raises(EOFError) { socket.readpartial(1) }
  end

  def test_http1_for_who_does_not_know_http2
    serve { |env| [200, {}, [env["SERVER_PROTOCOL"]]] }
    socket = secure(alpn: nil)
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    text = +""
    text << socket.readpartial(4096) until text.end_with?("\r\n\r\nHTTP/1.1")
    assert_match(%r{\AHTTP/1.1 200 }, text)
  end

  # Two requests in a row have the same connection to the core.
  def test_each_kind_of_answer_behind_each_other
    kinds = { "/length" => ["hello"], "/pieces" => %w[a b].each, "/none" => [].each, "/empty" => [] }
    serve(lint: false) do |env|
      path = env["PATH_INFO"]
      path == "/no-content" ? [204, {}, []] : [200, {}, kinds.fetch(path)]
    end
    wanted = { "/length" => "hello", "/pieces" => "ab", "/none" => "", "/empty" => "", "/no-content" => "" }
    wanted.keys.product(wanted.keys).flatten.each do |path|
      assert_equal(wanted[path], client.get(path, timeout: 60).body.to_s, path)
    end
  end
end
