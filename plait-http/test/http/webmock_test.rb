# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/nginx_server"

# In processes of their own: WebMock changes every client it finds.
class WebMockTest < Minitest::Test
  PRELUDE = <<~RUBY
    require "webmock"
    require "plait/http/webmock"
    include WebMock::API
    WebMock.enable!
  RUBY

  def setup
    skip("webmock is not installed: bin/setup test drivers") unless Gem.loaded_specs["webmock"]
  end

  def test_a_stub_answers
    assert_equal(<<~OUT, run_with(<<~RUBY))
      [201, "made", "1", "made"]
      [404, 404]
      true
    OUT
      stub_request(:post, "http://api.test/items").with(body: "a=1", headers: { "X-Key" => "k" })
        .to_return(status: [201, "Created"], body: "made", headers: { "X-One" => "1" })
      response = Plait::HTTP.post("http://api.test/items", body: "a=1", headers: { "X-Key" => "k" })
      p [response.status, response.body, response["x-one"], response.text]
      stub_request(:get, "http://api.test/gone").to_return(status: 404)
      p Plait::HTTP.fan_out(["http://api.test/gone"] * 2, limit: 2).map(&:status)
      p WebMock::RequestRegistry.instance.times_executed(WebMock::RequestPattern.new(:get, "http://api.test/gone")) == 2
    RUBY
  end

  def test_a_coded_stub_is_decoded_piece_by_piece_too
    assert_equal("hello\nhello\n", run_with(<<~RUBY))
      require "zlib"
      stub_request(:get, "http://api.test/").to_return(headers: { "Content-Encoding" => "gzip" }, body: Zlib.gzip("hello"))
      puts Plait::HTTP.get("http://api.test/").body
      puts Plait::HTTP.stream(:get, "http://api.test/").each_line.to_a
    RUBY
  end

  # The client's, those of a URL, a jar and a form, not only what the call says itself; and after a redirect what is left.
  def test_all_fields_that_go_out_are_seen
    assert_equal(<<~OUT, run_with(<<~RUBY))
      ["Basic YWRhOnMzY3JldA==", nil, "mine", "api.test"]
      ["Bearer t", "a=1", "mine", "api.test"]
      ["Basic YWRhOnMzY3JldA==", "a=1", "mine", "api.test"]
      [nil, nil, "mine", "elsewhere.test"]
      ["Bearer t", "a=1", "mine", "api.test"]
      "application/x-www-form-urlencoded"
    OUT
      seen = lambda do |request|
        p request.headers.values_at("Authorization", "Cookie", "User-Agent", "Host")
        p request.headers["Content-Type"] if request.method == :post
        true
      end
      stub_request(:get, "http://api.test/").with(basic_auth: ["ada", "s3cret"], &seen)
        .to_return(headers: { "Set-Cookie" => "a=1" })
      stub_request(:any, "http://api.test/token").with(headers: { "Authorization" => "Bearer t" }, &seen)
      stub_request(:get, "http://api.test/from").with(&seen).to_return(status: 302, headers: { "Location" => "http://elsewhere.test/" })
      stub_request(:get, "http://elsewhere.test/").with(&seen)
      client = Plait::HTTP::Client.new(auth: ["ada", "s3cret"], base: "http://api.test/", headers: { "User-Agent" => "mine" }, cookies: true)
      client.get("/")
      client.get("/token", auth: { bearer: "t" })
      client.get("/from")
      client.post("/token", auth: { bearer: "t" }, form: { a: 1 })
    RUBY
  end

  def test_bodies_of_any_kind
    assert_equal(<<~OUT, run_with(<<~RUBY))
      ["ab", "ab", "b", "ab", true, true]
    OUT
      $seen = []
      stub_request(:post, "http://api.test/").with { |request| $seen << request.body }
      file = File.open(#{__FILE__.dump})
      bodies = [StringIO.new("ab"), %w[a b], StringIO.new("ab").tap(&:getc), "ab", file]
      bodies.each { |body| Plait::HTTP.post("http://api.test/", body: body) }
      Plait::HTTP.post("http://api.test/", multipart: { title: "a", file: file })
      text = File.binread(#{__FILE__.dump})
      p $seen[0, 4] + [$seen[4] == text, $seen[5].include?(text) && $seen[5].include?('name="title"')]
    RUBY
  end

  def test_a_body_is_sent_after_it_was_looked_at
    assert_equal("\"b\"\n", run_with(<<~RUBY))
      server = TCPServer.new("127.0.0.1", 0)
      echo = Thread.new do
        socket = server.accept
        nil until socket.gets == "\\r\\n"
        socket.write("HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\n\\r\\n" + socket.read(1))
        socket.close
      end
      WebMock.allow_net_connect!
      p Plait::HTTP.post("http://127.0.0.1:\#{server.addr[1]}/", body: StringIO.new("ab").tap(&:getc), proxy: false).body
      echo.join
    RUBY
  end

  def test_errors_and_timeouts
    assert_equal(<<~OUT, run_with(<<~RUBY))
      Plait::ReadTimeout
      EOFError
      WebMock::NetConnectNotAllowedError
    OUT
      stub_request(:get, "http://api.test/slow").to_timeout
      stub_request(:get, "http://api.test/cut").to_raise(EOFError)
      %w[slow cut other].each do |path|
        Plait::HTTP.get("http://api.test/\#{path}")
      rescue Exception => e
        p e.class
      end
    RUBY
  end

  def test_the_network_where_it_is_allowed_and_after_it_is_turned_off
    nginx = Support::NginxServer.start(server: "location /hello { return 200 hi; }")
    assert_equal(%(["hi", 200]\n"hi"\n"hi"\n), run_with(<<~RUBY))
      WebMock.allow_net_connect!
      WebMock.after_request { |request, response| $seen = [response.body, response.status.first] }
      body = Plait::HTTP.get("#{nginx.url}/hello").body
      p $seen, body
      WebMock.disable!
      p Plait::HTTP.get("#{nginx.url}/hello").body
    RUBY
  ensure
    nginx&.stop
  end

  private

  def run_with(code)
    result = Support::FreshRuby.run(PRELUDE + code)
    assert_empty(result.err)
    result.out
  end
end
