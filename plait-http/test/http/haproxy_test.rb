# frozen_string_literal: true

require_relative "raw_server"
require_relative "scripted_origin"
require "support/certificates"
require "support/haproxy_server"

# The client before an HAProxy: what it says itself, and what it makes of an origin's answers, by HTTP/1.1, by TLS and by
# HTTP/2.
class HTTPHaproxyTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP
  AUTHORITY = Certificates::Authority.new
  LEAF = AUTHORITY.issue("DNS:localhost")
  # How it is asked => by TLS, and with HTTP/2.
  WAYS = { "http1" => [false, false], "tls" => [true, false], "http2" => [true, true] }.freeze
  # Path => what the origin answers.
  ANSWERS = {
    "/trailers" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Digest\r\n\r\n" \
                   "5;x=y\r\nhello\r\n0\r\nDigest: abc\r\n\r\n",
    "/interim" => "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" \
                  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "/old" => "HTTP/1.0 200 OK\r\n\r\nhello",
    "/none" => "HTTP/1.1 204 No Content\r\n\r\n",
    "/head" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
  }.freeze
  # Path => what of an answer comes before the connection is closed.
  CUT = {
    "/cut" => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
    "/torn" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "/nothing" => ""
  }.freeze

  WAYS.each do |name, (tls, http2)|
    define_method("test_answers_of_the_origin_by_#{name}") do
      with_haproxy(tls, http2) do |client, url|
        trailing = client.get("#{url}/trailers")
        assert_equal(["hello", [%w[digest abc]]], [trailing.body, trailing.trailers])
        streamed = client.get("#{url}/trailers") { |response| [response.each_piece.to_a.join, response.trailers] }
        assert_equal(["hello", [%w[digest abc]]], streamed)
        assert_equal([200, "hello", nil], client.get("#{url}/interim").then { |r| [r.status, r.body, r["link"]] })
        assert_equal("hello", client.get("#{url}/old").body)
        assert_equal([204, ""], client.get("#{url}/none").then { |response| [response.status, response.body] })
        assert_equal([200, ""], client.head("#{url}/head").then { |response| [response.status, response.body] })
        assert_equal(http2 ? "2" : "1.1", trailing.version)
        assert_equal(http2 ? 1 : 2, client.statistics[:connected], "one of HTTP/1.0 ends with its connection")
      end
    end

    define_method("test_answers_that_are_cut_off_by_#{name}") do
      with_haproxy(tls, http2) do |client, url|
        cut = [Plait::TruncatedError, *(Plait::ConnectionClosed if http2)] # newer ones reset the stream
        assert_raises(*cut) { client.get("#{url}/cut") }
        assert_raises(*cut) { client.get("#{url}/cut") { |response| response.each_piece { nil } } }
        # Of this older ones make a whole answer.
        assert_raises(Plait::TruncatedError) { client.get("#{url}/torn") } unless http2
        assert_includes(http2 ? [502, "REFUSED_STREAM"] : [502], status_or_reset(client, "#{url}/nothing"))
      end
    end

    define_method("test_its_own_answers_by_#{name}") do
      frontend = <<~CONF
        http-request return status 200 content-type text/plain lf-string "%[method] %[path]" if { path_beg /tell }
        http-request deny deny_status 413 if { req.hdr_val(content-length) gt 1000 }
        http-request early-hint Link "</style.css>" if { path /hint }
        http-request return status 200 content-type text/plain string hinted if { path /hint }
        http-request redirect location /tell/there code 307 if { path /away }
      CONF
      with_haproxy(tls, http2, frontend: frontend) do |client, url|
        assert_equal(["GET /tell/a", 200], client.get("#{url}/tell/a").then { |response| [response.body, response.status] })
        assert_equal("hinted", client.get("#{url}/hint").body)
        assert_equal("GET /tell/there", client.get("#{url}/away").body)
        assert_equal("PUT /tell/there", client.put("#{url}/away", body: "x").body)
        assert_equal(413, client.post("#{url}/large", body: "x" * 5_000_000).status)
        assert_equal("GET /tell/b", client.get("#{url}/tell/b").body)
      end
    end

    define_method("test_connections_that_it_closes_by_#{name}") do
      frontend = 'http-request return status 200 content-type text/plain lf-string "%[method] %[path]"'
      with_haproxy(tls, http2, frontend: frontend, defaults: "timeout http-keep-alive 100ms") do |client, url, haproxy|
        %i[get post put].each do |verb|
          assert_equal("#{verb.upcase} /a", client.request(verb, "#{url}/a").body)
          await_the_end(haproxy.port)
        end
        assert_equal([3, 2], client.statistics.values_at(:connected, :stale))
      end
    end

    define_method("test_a_connection_that_is_closed_instead_of_an_answer_by_#{name}") do
      with_haproxy(tls, http2, frontend: "http-request reject") do |client, url|
        error = assert_raises(Plait::ConnectionClosed) { client.get("#{url}/a") }
        assert_match(%r{GET #{url}/a}, error.message)
        refute_predicate(error, :retry_safe?)
        error = assert_raises(Plait::ConnectionClosed) { client.request(:get, "#{url}/a", retries: { count: 2, base: 0.001 }) }
        assert_match(/tried 3 times/, error.message)
      end
    end

    define_method("test_an_answer_that_does_not_come_by_#{name}") do
      quick = { first_byte: 0.1 }
      with_haproxy(tls, http2, frontend: "http-request tarpit", defaults: "timeout tarpit 60s") do |client, url|
        error = assert_raises(Plait::ReadTimeout) { client.get("#{url}/a", timeout: quick) }
        assert_match(/sent no answer in time/, error.message)
      end
    end
  end

  # It sends one that nobody has asked for.
  def test_a_timeout_that_comes_as_an_answer
    with_haproxy(false, false, defaults: "timeout http-request 100ms") do |_client, url, haproxy|
      connector = Plait.const_get(:Io)::Connector.new
      socket = connector.connect(Plait.const_get(:Io)::Endpoint.new(:tcp, "127.0.0.1", haproxy.port))
      wire = HTTP.const_get(:Wire).new(socket, endpoint: url)
      assert(socket.wait_readable(10), "it says 408")
      assert_predicate(wire, :stale?)
      assert_predicate(wire, :closed?)
    end
  end

  def test_many_at_once_share_what_it_allows
    frontend = 'http-request return status 200 content-type text/plain lf-string "%[path]"'
    WAYS.each_value do |tls, http2|
      with_haproxy(tls, http2, frontend: frontend) do |client, url|
        urls = Array.new(300) { |number| "#{url}/#{number}" }
        assert_equal(urls, client.fan_out(urls, limit: 50).map { |response| url + response.body })
        assert_equal(urls, client.fan_out(urls, limit: 8, on: :threads).map { |response| url + response.body })
      end
    end
  end

  private

  # @yieldparam client [Plait::HTTP::Client]
  # @yieldparam url [String]
  # @yieldparam haproxy [Support::HaproxyServer]
  def with_haproxy(tls, http2, **options)
    skip("the gem http-2 is not installed: bin/setup test") if http2 && Gem::Specification.find_all_by_name("http-2").empty?
    RawServer.open(method(:answer)) do |origin|
      Support::HaproxyServer.start(origin: origin.port, leaf: (LEAF if tls), **options) do |haproxy|
        HTTP::Client.open(proxy: false, tls: { cert_store: AUTHORITY.store }, http2: http2) do |client|
          yield(client, haproxy.url, haproxy)
          assert_idle(client)
        end
      end
    end
  end

  # @return [Integer, String] the status, or why there is none
  def status_or_reset(client, url)
    client.get(url).status
  rescue Plait::ConnectionClosed => e
    e.message[/\(([A-Z_]+)\)/, 1]
  end

  # Of the origin, on one connection.
  def answer(peer)
    while (path = peer.head&.then { |head| head[/ (\S+) /, 1] })
      peer.say(CUT[path] || ANSWERS.fetch(path))
      return peer.close if CUT.key?(path) || path == "/old"
    end
    peer.close
  end
end
