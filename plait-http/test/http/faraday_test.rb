# frozen_string_literal: true

require "test_helper"
require "support/nginx_server"
require_relative "raw_server"
require_relative "scripted_origin"
require "support/certificates"
require "socket"
require "zlib"

begin
  require "faraday"
  require "plait/http/faraday"
rescue LoadError
  nil # the tests say so
end

class FaradayTest < Minitest::Test
  BIG = "x" * 300_000

  def setup
    skip("faraday is not installed: bin/setup test drivers") unless defined?(Plait::HTTP::Faraday)
    @nginx = Support::NginxServer.start(server: <<~CONF)
      default_type text/plain;
      location /hello { add_header X-One 1; add_header X-One 2; return 200 "hello $request_method $http_x_tell"; }
      location /missing { return 404 gone; }
      location /away { return 302 /hello; }
      location /peer { return 200 $connection; }
    CONF
    File.write(File.join(@nginx.root, "big"), BIG)
  end

  def teardown = @nginx&.stop

  def test_a_get
    response = api.get("/hello", nil, "X-Tell" => "me")
    assert_equal([200, "hello GET me", "1, 2", "OK"],
                 [response.status, response.body, response.headers["x-one"], response.reason_phrase])
    assert_equal("text/plain", response.headers["Content-Type"])
  end

  def test_methods_and_bodies
    with_echo do |url|
      api = connect(url)
      assert_match(%r{\APOST / .*Content-Type: application/x-www-form-urlencoded.*\r\n\r\na=1\z}m, api.post("/", { a: 1 }).body)
      assert_match(%r{\APUT /x .*\r\n\r\nbytes\z}m, api.put("/x", "bytes").body)
      assert_match(%r{\ADELETE /x .*\r\n\r\n\z}m, api.delete("/x").body)
      assert_match(%r{\APOST / .*\r\n\r\nfrom a file\z}m, api.post("/", StringIO.new("from a file")).body)
    end
  end

  # Middleware that finds a coding would decode a second time.
  def test_what_was_decoded_says_nothing_of_a_coding
    zipped = Zlib.gzip("text")
    answer = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: #{zipped.bytesize}\r\nX: y\r\n\r\n".b << zipped
    RawServer.open(->(peer) { peer.answer(answer) }) do |server|
      api = connect("http://127.0.0.1:#{server.port}")
      pieces = []
      streamed = api.get("/") { |request| request.options.on_data = ->(piece, *) { pieces << piece } }
      assert_equal(["text", "text"], [api.get("/").body, pieces.join])
      [api.get("/"), streamed].each do |response|
        assert_equal([nil, nil, "y"], %w[content-encoding content-length x].map { |name| response.headers[name] })
      end
      own = api.get("/", nil, "Accept-Encoding" => "gzip")
      assert_equal([zipped, "gzip"], [own.body.b, own.headers["content-encoding"]])
    end
  end

  def test_statuses_and_redirects_are_left_to_middleware
    assert_equal([404, "gone"], api.get("/missing").then { |response| [response.status, response.body] })
    assert_equal(302, api.get("/away").status)
    raising = connect { |builder| builder.response(:raise_error) }
    assert_raises(Faraday::ResourceNotFound) { raising.get("/missing") }
  end

  def test_the_connection_is_kept
    assert_equal([api.get("/peer").body], Array.new(3) { api.get("/peer").body }.uniq)
  end

  def test_streaming
    pieces = []
    response = api.get("/big") do |request|
      request.options.on_data = ->(piece, size, env) { pieces << [piece.bytesize, size, env.status] }
    end
    assert_equal(BIG.bytesize, pieces.sum(&:first))
    assert_equal([BIG.bytesize, 200], pieces.last.drop(1))
    assert_operator(pieces.size, :>, 1)
    assert_empty(response.body.to_s)
  end

  def test_in_parallel
    responses = []
    api.in_parallel { 20.times { responses << api.get("/hello") } }
    assert_equal([200], responses.map(&:status).uniq)
    assert_equal(["hello GET "], responses.map(&:body).uniq)
  end

  def test_under_fibers_and_threads
    %i[threads fibers].each do |on|
      assert_equal([200], Plait.map(1..30, on: on, limit: 10) { api.get("/hello").status }.uniq)
    end
  end

  def test_errors
    assert_raises(Faraday::ConnectionFailed) { connect("http://127.0.0.1:#{Support::Ports::CLOSED}").get("/") }
    with_silence do |url|
      assert_raises(Faraday::TimeoutError) { connect(url).get("/") { |request| request.options.timeout = 0.05 } }
    end
    assert_raises(Plait::UsageError) { api.get("/hello", nil, "X-Tell" => "a\r\nb: c") }
  end

  def test_bind_is_the_address_from_which_it_connects
    tell = ->(io, _) { io.write(ScriptedOrigin.answer(io.remote_address.inspect_sockaddr)) }
    ScriptedOrigin.open({ "/from" => tell }) do |origin|
      connection = connect(origin.url)
      from = ->(bind) { connection.get("/from") { |request| request.options.bind = bind }.body }
      assert_match(/\A127\.0\.0\.2:/, from.call({ host: "127.0.0.2" }))
      assert_match(/\A127\.0\.0\.1:/, from.call(nil))
      port = Addrinfo.tcp("127.0.0.3", 0).bind { |socket| socket.local_address.ip_port }
      2.times { assert_equal("127.0.0.3:#{port}", from.call({ host: "127.0.0.3", port: port })) }
    end
  end

  def test_verify_hostname_is_for_the_name_alone
    authority = Certificates::Authority.new
    serving(authority) do |url|
      ssl = { cert_store: authority.store }
      assert_raises(Faraday::SSLError) { secure(url, **ssl).get("/x") }
      api = secure(url, **ssl, verify_hostname: false)
      2.times { assert_equal("GET /x ", api.get("/x").body) }
      assert_raises(Faraday::SSLError) { secure(url, cert_store: Certificates::Authority.new.store, verify_hostname: false).get("/x") }
    end
  end

  def test_a_password_for_the_proxy_arrives_as_it_is
    with_echo do |url|
      api = Faraday.new("http://x.test/", proxy: { uri: url, user: "u", password: "a b+c@ä" }) { |builder| builder.adapter(:plait) }
      assert_equal("u:a b+c@ä".b, api.get("/").body[/^proxy-authorization: Basic (.*)\r/i, 1].unpack1("m"))
    end
  end

  def test_write_timeout_is_a_time_of_its_own
    server = TCPServer.new("127.0.0.1", 0) # which takes nothing
    error = assert_raises(Faraday::TimeoutError) do
      connect("http://127.0.0.1:#{server.addr[1]}").post("/", "x" * 20_000_000) do |request|
        request.options.update(timeout: 60, write_timeout: 0.1)
      end
    end
    assert_match(/write: 0\.1/, error.message)
  ensure
    server&.close
  end

  def test_what_it_does_not_have_is_refused
    assert_equal(200, api.get("/hello") { |request| request.options.update(timeout: 9, write_timeout: 9) }.status)
    { verify_depth: 2, version: "TLSv1_2", max_version: "TLS1_2" }.each do |name, value|
      assert_match(/#{name}/, assert_raises(Plait::UsageError) { secure("https://127.0.0.1:1", name => value).get("/") }.message)
    end
  end

  def test_nothing_is_left
    api.get("/hello")
    adapter = api.builder.app.app
    assert_no_leaks { connect.then { |own| own.get("/hello").then { own.app.close } } }
    adapter.close if adapter.respond_to?(:close)
  end

  private

  def api = @api ||= connect

  def connect(url = @nginx.url)
    Faraday.new(url) do |builder|
      builder.request(:url_encoded)
      yield builder if block_given?
      builder.adapter(:plait)
    end
  end

  def secure(url, **ssl) = Faraday.new(url, ssl: ssl) { |builder| builder.adapter(:plait) }

  # By a certificate for another name.
  def serving(authority)
    leaf = authority.issue("DNS:other.test")
    context = OpenSSL::SSL::SSLContext.new
    context.add_certificate(leaf.certificate, leaf.key)
    ScriptedOrigin.open({}, tls: context) { |origin| yield origin.url }
  end

  # Answers with the request.
  def with_echo
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new { loop { echo(server.accept) } }
    yield "http://127.0.0.1:#{server.local_address.ip_port}"
  ensure
    thread.kill.join
    server.close
  end

  def echo(socket)
    request = +""
    request << socket.gets until request.end_with?("\r\n\r\n")
    length = request[/^content-length: (\d+)/i, 1].to_i
    request << socket.read(length) if length.positive?
    request << dechunk(socket) if request.match?(/^transfer-encoding: chunked/i)
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: #{request.bytesize}\r\nConnection: close\r\n\r\n#{request}")
    socket.close
  end

  def dechunk(socket)
    body = +""
    while (size = socket.gets.hex).positive?
      body << socket.read(size)
      socket.gets
    end
    socket.gets
    body
  end

  def with_silence
    server = TCPServer.new("127.0.0.1", 0)
    yield "http://127.0.0.1:#{server.local_address.ip_port}"
  ensure
    server.close
  end
end
