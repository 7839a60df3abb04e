# frozen_string_literal: true

require_relative "scripted_origin"
require "stringio"
require "support/fresh_ruby"
require "zlib"

# The short way of ordinary calls: it sends what the long way sends, and its answers are those of the long way.
class HTTPDirectTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP
  Direct = HTTP.const_get(:Direct)
  Message = HTTP.const_get(:Exchange).const_get(:Message)
  JSON_TYPE = "application/json"

  # Options that take the short way.
  ORDINARY = [
    {}, { headers: { "X-One" => "1" } }, { headers: { x_one: "1", "X-Two" => 2 } }, { headers: { "user-agent" => "mine" } },
    { headers: { "Accept" => JSON_TYPE, "accept" => "text/html" } }, { headers: { "X-Umlaut" => "für" } },
    { headers: { "X-Empty" => "" } }, { headers: { "Authorization" => "Bearer abc" } }, { headers: { "Cookie" => "a=1" } },
    { headers: {} }, { auth: { bearer: "abc" } }, { auth: %w[ann secret] }, { auth: { bearer: "abc" }, headers: { x_one: 1 } },
    { query: { q: "a b", tag: %w[x y], page: 2 } }, { query: "raw=%20" }, { query: {} }, { timeout: 5 }, { timeout: { read: 1 } },
    { redirects: false }
  ].freeze
  BODIES = [
    { json: { name: "Ada", tags: [1, nil] } }, { json: false }, { form: { a: 1, b: "ü" } }, { body: "text" }, { body: "" },
    { body: "\xff\x00".b, headers: { "Content-Type" => "image/png" } },
    { json: [], headers: { content_type: "application/x" } }, {}
  ].freeze
  # Options that do not.
  OTHER = [
    { headers: { "Host" => "other" } }, { headers: { "Range" => "bytes=0-1" } }, { headers: { "Accept-Encoding" => "br" } },
    { headers: { "Connection" => "close" } }, { headers: { "X" => nil } }, { headers: { "X" => %w[a b] } },
    { headers: { "Authorization" => "Negotiate abc" } }, { headers: { "X" => " padded " } }, { headers: { "X" => :symbol } },
    { headers: { "X" => "ü".encode("UTF-16LE") } }, { headers: [%w[X 1]] }, { headers: { "X" => "1" * 5000 } },
    { headers: 30.times.to_h { |number| ["X-#{number}", "1"] } }, { auth: false }, { auth: -> { "Basic abc" } },
    { auth: { bearer: "a" }, headers: { "authorization" => "Basic b" } }, { retries: 1 }, { redirects: 3 }, { unknown: 1 }
  ].freeze

  def test_without_the_extension_a_call_with_options_takes_the_long_way
    result = Support::FreshRuby.run(<<~RUBY, env: { "PLAIT_PURE" => "1" })
      require "plait/http"
      server = TCPServer.new("127.0.0.1", 0)
      Thread.new do
        socket = server.accept
        head = socket.gets("\\r\\n\\r\\n")
        socket.write("HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\n", socket.read(head[/^Content-Length: (\\d+)/i, 1].to_i))
      end
      puts Plait::HTTP.post("http://127.0.0.1:\#{server.addr[1]}/", body: "text", proxy: false).body
    RUBY
    assert_equal(["text\n", ""], [result.out, result.err])
  end

  def test_sends_what_the_long_way_sends
    clients.each do |client|
      ORDINARY.each { |options| assert_same_head(client, :get, options) }
      ORDINARY.product(BODIES) do |options, body|
        both = { **options, **body, headers: { **options.fetch(:headers, {}), **body.fetch(:headers, {}) } }
        %i[post put patch delete].each { |method| assert_same_head(client, method, both) }
      end
    end
  end

  def test_leaves_to_the_long_way_what_needs_more
    client = HTTP::Client.new
    OTHER.each { |options| assert_nil(draft(client, :get, options), options.inspect) }
    assert_nil(draft(client, :get, { body: "x" }))
    assert_nil(draft(client, :post, { body: StringIO.new("x") }))
    assert_nil(draft(client, :post, { body: "x", json: 1 }))
    assert_nil(draft(client, :post, { multipart: { a: 1 } }))
    assert_nil(draft(client, :trace, {}))
  end

  def test_what_can_not_be_sent_is_refused_as_on_the_long_way
    with_origin do |client, origin|
      [{ headers: { "a b" => "1" } }, { headers: { "X" => "a\r\nY: b" } }, { headers: { "X" => "a\0" } }, { headers: 1 },
       { auth: ["a:b", "c"] }, { auth: { bearer: "\n" } }, { query: "a b" }, { query: 1 }, { timeout: -1 }, { timeout: "x" },
       { json: Float::NAN }, { nothing: 1 }].each do |options|
        assert_raises(Plait::UsageError, options.inspect) { client.post(origin.url("/x"), options) }
      end
      assert_empty(origin.requests)
    end
  end

  # ---- bases ----

  def test_joins_a_base_as_the_long_way_does
    paths = ["/x", "x", "x/y?a=b:c", "/x?y#z", "../x", "/a/../x", "./x", "?q", "#f", "//other/x", "", "http://b/x", "a:b", "ü"]
    ["http://a/", "http://a/b/c", "http://a/b/", "http://a/b/../c/", "http://u:p@a/b/"].each do |base|
      direct = Direct.new(HTTP::Client.new(base: base))
      paths.each { |path| assert_joined(direct, HTTP::URL.parse(base), path) }
    end
  end

  # ---- answers ----

  def test_a_response_tells_the_request_that_was_sent
    with_origin do |client, origin|
      data = { name: "Ada" }
      response = client.post(origin.url("/x#part"), json: data, headers: { "X-One" => "1" }, timeout: 5)
      data[:name] = "changed"
      request = response.request
      assert_equal(["POST", '{"name":"Ada"}', "1", JSON_TYPE, 5],
                   [request.method, request.body, request.headers["x-one"], request.headers["content-type"], request.timeout])
      assert_same(request, response.request)
      assert_equal(origin.url("/x#part"), response.url)
      assert_equal("POST", Marshal.load(Marshal.dump(response)).request.method)
    end
  end

  def test_what_the_caller_changes_afterwards_does_not_change_what_was_sent
    with_origin do |client, origin|
      url = origin.url("/x")
      headers = { "X-One" => "1" }
      response = client.get(url, headers: headers)
      url << "/changed"
      headers["X-One"] = "2"
      assert_equal([origin.url("/x"), "1"], [response.request.url.to_s, response.request.headers["x-one"]])
    end
  end

  def test_an_option_that_does_not_exist_is_refused_even_without_a_value
    with_origin do |client, origin|
      assert_raises(Plait::UsageError) { client.get(origin.url("/x"), nothing: nil) }
      assert_equal(200, client.get(origin.url("/x"), headers: nil, timeout: nil, auth: nil).status)
    end
  end

  def test_a_url_in_another_encoding_is_judged_as_on_the_long_way
    with_origin do |client, origin|
      based = client.with(base: origin.url("/"))
      assert_equal("GET /x ", based.get("x".encode("UTF-16LE")).body)
    end
  end

  def test_gives_out_errors_and_other_answers_as_they_are
    with_origin("/404" => always("none", status: "404 Not Found"), "/304" => always("", status: "304 Not Modified"),
                "/302" => redirect("/x")) do |client, origin|
      assert_equal([404, "none"], client.get(origin.url("/404"), timeout: 5).then { |answer| [answer.status, answer.body] })
      assert_equal(304, client.get(origin.url("/304")).status)
      assert_equal(302, client.get(origin.url("/302"), redirects: false).status)
    end
  end

  def test_a_coded_body_is_decoded_once_and_whole
    text = "text " * 400
    gzip = Zlib.gzip(text)
    field = "Content-Encoding: gzip"
    coded = { "/one" => [gzip, [field]], "/upper" => [gzip, ["CONTENT-ENCODING:  GZip "]], "/two" => [gzip + gzip, [field]],
              "/twice" => [Zlib.gzip(gzip), [field, field]], "/deflate" => [Zlib.deflate(text), ["Content-Encoding: deflate"]] }
    with_origin(**coded.transform_values { |body, fields| always(body, fields: fields) }) do |client, origin|
      coded.each_key do |path|
        response = client.get(origin.url(path))
        assert_equal([path == "/two" ? text * 2 : text, true], [response.body, response.decoded?], path)
      end
    end
  end

  def test_a_coded_body_that_is_broken_raises
    gzip = Zlib.gzip("text " * 400)
    changed = gzip.dup.tap { |bytes| bytes[-6] = "\0" }
    broken = { "/cut" => gzip[0..-9], "/behind" => "#{gzip}x", "/changed" => changed, "/none" => "text" }
    with_origin(**broken.transform_values { |body| always(body, fields: ["Content-Encoding: gzip"]) }) do |client, origin|
      broken.each_key { |path| assert_raises(Plait::RemoteProtocolError, path) { client.get(origin.url(path)) } }
    end
  end

  def test_a_small_body_does_not_grow_beyond_its_limit
    bomb = Zlib.gzip("\0" * 3_000_000)
    with_origin("/" => always(bomb, fields: ["Content-Encoding: gzip"]), max_body: 1_000_000) do |client, origin|
      assert_raises(Plait::LimitExceeded) { client.get(origin.url("/")) }
    end
  end

  # ---- redirects ----

  def test_follows_a_redirect_within_the_origin
    with_origin("/r" => redirect("/x?a=1"), "/two" => redirect("/r")) do |client, origin|
      response = client.get(origin.url("/r"), headers: { "X-One" => "1" })
      assert_equal(["GET /x?a=1 ", origin.url("/x?a=1"), [302]], [response.body, response.url, response.redirects.map(&:status)])
      assert_equal(%w[1 1], origin.requests.map { |request| request["x-one"] })
      assert_equal([origin.url("/two"), origin.url("/r")], client.get(origin.url("/two")).redirects.map(&:url))
    end
  end

  def test_a_redirect_in_a_circle_is_refused
    with_origin("/self" => redirect("/self"), "/a" => redirect("/b"), "/b" => redirect("/a")) do |client, origin|
      assert_raises(Plait::RedirectError) { client.get(origin.url("/self")) }
      assert_raises(Plait::RedirectError) { client.get(origin.url("/a")) }
    end
  end

  def test_an_error_behind_a_redirect_names_where_it_led
    cut = ->(io, _request) { io.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx") && false }
    with_origin("/r" => redirect("/cut"), "/cut" => cut) do |client, origin|
      error = assert_raises(Plait::RemoteProtocolError) { client.get(origin.url("/r")) }
      assert_includes(error.message, "/cut")
    end
  end

  # ---- options of a client ----

  def test_calls_of_the_module_with_the_same_options_share_connections
    ScriptedOrigin.open do |origin|
      3.times { assert_equal("GET /a/x ", HTTP.get("x", base: origin.url("/a/"), proxy: false).body) }
      assert_equal([1], origin.requests.map(&:connection).uniq)
    end
  end

  def test_a_jar_of_one_call_is_not_the_next_ones
    ScriptedOrigin.open({ "/" => always("", fields: ["Set-Cookie: a=1"]) }) do |origin|
      2.times { HTTP.get(origin.url("/"), cookies: true) }
      assert_equal([nil, nil], origin.requests.map { |request| request["cookie"] })
    end
  end

  def test_clients_of_many_options_are_closed_when_they_are_no_longer_used
    ScriptedOrigin.open do |origin|
      40.times { |number| HTTP.get(origin.url("/"), pool: { max: number + 1 }) }
      wait_until { origin.open_connections <= 16 }
    end
  end

  private

  def clients
    [HTTP::Client.new, HTTP::Client.new(headers: { "X-Of-Client" => "1", "Accept" => nil }, auth: { bearer: "of-client" }),
     HTTP::Client.new(cookies: true).tap { |client| client.settings.cookies.add("http://origin/", "of=jar") }]
  end

  def draft(client, method, options, url = "http://origin/x")
    made = Direct.const_get(:Draft).of(method, url, options) or return
    route = client.routes.ordinary(url)
    made if made.compose(route, client.settings.cookies&.header_for(url))
  end

  def assert_same_head(client, method, options)
    short = draft(client, method, options) or flunk("#{method} #{options} goes the long way")
    about = options.except(:redirects)
    message = Message.new(client, HTTP::Request.new(method, "http://origin/x", **about))
    assert_equal(message.head, short.instance_variable_get(:@head), "#{method} #{options}")
    assert_same_request(message.request, short)
  end

  def assert_same_request(expected, short)
    made = short.request
    assert_equal([expected.url, expected.headers.to_a, expected.body, expected.auth],
                 [made.url, made.headers.to_a, made.body, made.auth])
  end

  def assert_joined(direct, base, path)
    joined = direct.send(:absolute, path) if direct.instance_variable_get(:@origin)
    return if joined.nil?

    expected = HTTP::URL.parse(path, base: base)
    assert_equal(expected.whole, HTTP::URL.parse(joined).whole, "#{base} #{path}")
  end
end
