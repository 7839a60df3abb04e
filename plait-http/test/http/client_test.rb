# frozen_string_literal: true

require_relative "scripted_origin"
require "support/fresh_ruby"
require "support/nginx_server"
require "json"
require "stringio"
require "tempfile"
require "uri"
require "zlib"

# Plait::HTTP and its Client: what a call sends, what it returns, and what it says when it can't.
class HTTPClientTest < Minitest::Test
  Io = Plait.const_get(:Io)
  include ClientCases

  HTTP = Plait::HTTP

  # ---- verbs ----

  def test_gets
    with_origin do |client, origin|
      response = client.get(origin.url("/hello?a=1#part"))
      assert_equal([200, "GET /hello?a=1 "], [response.status, response.body])
      assert_equal("text/plain", response.content_type)
      assert_equal(["GET", origin.url("/hello?a=1")], [response.request.method, response.request.url.to_s])
    end
  end

  def test_each_verb_has_a_method
    with_origin do |client, origin|
      %i[post put patch delete options].each do |verb|
        assert_equal("#{verb.upcase} /x ", client.public_send(verb, origin.url("/x")).body)
      end
      assert_equal(["", 200], client.head(origin.url("/x")).then { |response| [response.body, response.status] })
      assert_equal("PROPFIND /x ", client.request("PROPFIND", origin.url("/x")).body)
    end
  end

  def test_the_module_has_the_same_verbs_on_a_client_of_its_own
    ScriptedOrigin.open do |origin|
      assert_equal("GET /x ", HTTP.get(origin.url("/x")).body)
      assert_equal("POST /x y", HTTP.post(origin.url("/x"), body: "y").body)
      assert_equal("PUT /x ", HTTP.request(:put, origin.url("/x")).body)
      assert_equal(1, origin.connections)
    end
  end

  def test_options_are_keywords_or_one_hash
    with_origin("/r" => redirect("/x")) do |client, origin|
      [client, HTTP].each do |http|
        (%i[get head] + %i[post put patch delete options]).each do |verb|
          http.public_send(verb, origin.url("/x"), { headers: { "X-A" => verb } })
          assert_equal([verb.to_s, verb.to_s.upcase], origin.requests.last.then { |request| [request["x-a"], request.verb] })
          assert_match(/body:/, assert_raises(Plait::UsageError) { http.public_send(verb, origin.url("/x"), "text") }.message)
        end
        assert_equal("PUT /x y", http.request(:put, origin.url("/x"), { body: "y" }).body)
        assert_equal(302, http.request(:get, origin.url("/r"), { redirects: false }).status)
        assert_equal(["GET /x "], http.fan_out([origin.url("/x")], { limit: 1 }, on_error: :collect).map { |one| one.value.body })
      end
    end
  end

  def test_takes_uris_and_urls
    with_origin do |client, origin|
      assert_equal("GET /x ", client.get(URI(origin.url("/x"))).body)
      assert_equal("GET /x ", client.get(HTTP::URL.parse(origin.url("/x"))).body)
      assert_equal("GET / ", client.get(origin.url).body)
      assert_equal("GET /?q ", client.get(origin.url("?q")).body)
    end
  end

  # ---- what is sent ----

  def test_nil_takes_a_field_of_the_client_away
    with_origin("/r" => redirect("/x"), headers: { "X-Of-Client" => "1", accept: nil }, cookies: true) do |client, origin|
      client.settings.cookies.add(origin.url("/"), "a=1")
      without = { "User-Agent" => nil, x_of_client: nil, "Cookie" => nil, "Accept-Encoding" => nil, "Content-Type" => nil }
      client.get(origin.url("/r"), headers: without)
      client.post(origin.url("/x"), json: 1, headers: HTTP::Headers.new(without))
      client.fan_out([{ url: origin.url("/x"), headers: without }])
      assert_equal([%w[host], %w[host], %w[host content-length], %w[host]], origin.requests.map { |r| r.fields.map(&:first) })
      client.get(origin.url("/x"))
      assert_equal(%w[host user-agent accept-encoding x-of-client cookie], origin.requests.last.fields.map(&:first))
      assert_raises(Plait::Error) { client.get(origin.url("/x"), headers: { "Host" => nil }) }
    end
    assert_raises(Plait::UsageError) { HTTP.get("http://127.0.0.1/", headers: false) }
  end

  def test_sends_each_default_field_once
    with_origin(headers: { "X-Of-Client" => "1", "User-Agent" => "mine" }) do |client, origin|
      client.get(origin.url("/plain"))
      client.get(origin.url("/more"), headers: { "X-Of-Client" => "2", "X-Own" => "3" })
      plain, more = origin.requests.map { |request| request.fields.to_h }
      assert_equal("127.0.0.1:#{origin.port}", plain["host"])
      assert_equal("mine", plain["user-agent"])
      assert_match(/\Agzip, deflate/, plain["accept-encoding"])
      assert_equal("1", plain["x-of-client"])
      assert_equal(%w[2 3], more.values_at("x-of-client", "x-own"))
      origin.requests.each { |request| assert_equal(request.fields.map(&:first).uniq, request.fields.map(&:first)) }
    end
  end

  def test_the_short_way_and_the_long_way_send_the_same
    with_origin(headers: { "X-A" => "1" }, auth: %w[user secret]) do |client, origin|
      client.get(origin.url("/x?y"))
      client.request(:get, origin.url("/x?y"))
      short, long = origin.requests
      assert_equal(short.target, long.target)
      assert_equal(short.fields.sort, long.fields.sort)
    end
  end

  def test_relative_urls_need_a_base
    with_origin do |client, origin|
      HTTP::Client.open(base: origin.url("/api/v1/"), **PROXY) do |api|
        assert_equal("GET /api/v1/users?page=2 ", api.get("users", query: { page: 2 }).body)
        assert_equal("GET /top ", api.get("/top").body)
      end
      error = assert_raises(Plait::UsageError) { client.get("/users") }
      assert_match(/has no scheme/, error.message)
    end
  end

  def test_json_form_and_query
    with_origin do |client, origin|
      client.post(origin.url("/j?x=1"), json: { name: "Ada" }, query: { y: "a b" })
      client.post(origin.url("/f"), form: { a: 1, b: "x y" })
      json, form = origin.requests
      assert_equal(["/j?x=1&y=a+b", "application/json", { "name" => "Ada" }],
                   [json.target, json["content-type"], JSON.parse(json.body)])
      assert_equal(["application/x-www-form-urlencoded", "a=1&b=x+y"], [form["content-type"], form.body])
    end
  end

  def test_multipart
    with_origin do |client, origin|
      client.post(origin.url("/m"), multipart: { note: "hi", file: StringIO.new("content") })
      sent = origin.requests.first
      assert_match(%r{\Amultipart/form-data; boundary=}, sent["content-type"])
      assert_includes(sent.body, "content")
      assert_includes(sent.body, "hi")
    end
  end

  def test_bodies_of_known_and_unknown_length
    Tempfile.create("body") do |file|
      file.write("x" * 200_000)
      file.rewind
      with_origin do |client, origin|
        client.post(origin.url("/file"), body: file)
        client.post(origin.url("/pieces"), body: Enumerator.new { |sink| 3.times { |i| sink << (i.to_s * 50_000) } })
        known, unknown = origin.requests
        assert_equal(["200000", nil, 200_000], [known["content-length"], known["transfer-encoding"], known.body.bytesize])
        assert_equal([nil, "chunked", "#{"0" * 50_000}#{"1" * 50_000}#{"2" * 50_000}"],
                     [unknown["content-length"], unknown["transfer-encoding"], unknown.body])
      end
    end
  end

  def test_the_length_of_a_body_is_not_for_the_caller_to_say
    with_origin do |client, origin|
      client.post(origin.url("/x"), body: "four", headers: { "Content-Length" => "2" })
      client.post(origin.url("/y"), body: "four", headers: { "Transfer-Encoding" => "chunked" })
      assert_equal(%w[four four], origin.requests.map(&:body))
    end
  end

  def test_nor_is_it_for_the_headers_of_a_client
    with_origin(headers: { "Content-Length" => "200", "Transfer-Encoding" => "chunked", "Expect" => "x" }) do |client, origin|
      2.times { |number| assert_equal("GET /#{number} ", client.get(origin.url("/#{number}")).body) }
      assert_equal(2, client.fan_out([origin.url("/2"), origin.url("/3")], limit: 1).size)
      assert_equal([[nil, nil]] * 4, origin.requests.map { |request| [request["content-length"], request["transfer-encoding"]] })
    end
  end

  def test_a_get_has_one_host_that_can_be_one
    ["a b", %w[one two], "one:x"].each do |host|
      with_origin(headers: { "Host" => host }) do |client, origin|
        assert_raises(Plait::LocalProtocolError) { client.get(origin.url("/x")) }
        assert_raises(Plait::LocalProtocolError) { client.fan_out([origin.url("/x")]) }
        assert_empty(origin.requests)
      end
    end
    with_origin(headers: { "Host" => "example.org" }) do |client, origin|
      client.get(origin.url("/x"))
      assert_equal(["example.org"], origin.requests.map { |request| request["host"] })
    end
  end

  def test_a_post_without_a_body_says_so
    with_origin do |client, origin|
      client.post(origin.url("/x"))
      client.get(origin.url("/x"))
      assert_equal(["0", nil], origin.requests.map { |request| request["content-length"] })
    end
  end

  def test_a_body_that_waits_for_the_servers_word
    refusing = lambda do |io, _request|
      io.write(answer("no", status: "417 Expectation Failed", fields: ["Connection: close"]))
      false
    end
    with_origin do |client, origin|
      assert_equal("PUT /x big", client.put(origin.url("/x"), body: "big", headers: { "Expect" => "100-continue" }).body)
      origin.routes["/no"] = refusing
      assert_equal(417, client.put(origin.url("/no"), body: "big", headers: { "Expect" => "100-continue" }).status)
    end
  end

  # ---- what is refused before anything is sent ----

  def test_refuses_what_can_not_be_sent
    with_origin do |client, origin|
      [-> { client.get("http://127.0.0.1:#{origin.port}/a b") },
       -> { client.get("http://127.0.0.1:#{origin.port}/a\r\nX: y") },
       -> { client.get("ftp://127.0.0.1/x") },
       -> { client.get("http:///x") },
       -> { client.get("http://127.0.0.1\xFF:#{origin.port}/") },
       -> { client.fan_out(["http://127.0.0.1:#{origin.port}?\xFF"]) },
       -> { client.get("http://127.0.0.1:#{origin.port}/", headers: { "X" => "a\nb" }) },
       -> { client.get("http://127.0.0.1:#{origin.port}/", headers: { "X Y" => "a" }) },
       -> { client.get("http://127.0.0.1:#{origin.port}/", body: "x") },
       -> { client.get("http://127.0.0.1:#{origin.port}/", bodi: "x") },
       -> { client.post("http://127.0.0.1:#{origin.port}/", body: "x", json: 1) },
       -> { client.request("GE T", "http://127.0.0.1:#{origin.port}/") },
       -> { client.get("http://127.0.0.1:#{origin.port}/", timeout: -1) }].each do |call|
        assert_raises(Plait::UsageError, Plait::LocalProtocolError, &call)
      end
      client.get(origin.url("/good"))
      2.times { |i| assert_raises(Plait::UsageError, Plait::LocalProtocolError) { client.get(origin.url("/a b#{i}")) } }
      assert_raises(Plait::UsageError, Plait::LocalProtocolError) { client.get(origin.url("/é")) }
      client.get(origin.url("/wide").encode("UTF-16LE"))
      assert_equal(["/good", "/wide"], origin.requests.map(&:target))
      assert_idle(client)
    end
  end

  def test_a_wrong_option_is_named
    { nonsense: 1 }.each { |name, value| assert_usage(/#{name}/) { HTTP::Client.new(name => value) } }
    assert_usage(/retries: .*"often"/) { HTTP::Client.new(retries: "often") }
    assert_usage(/redirects: .*-1/) { HTTP::Client.new(redirects: -1) }
    assert_usage(/pool: .*:size/) { HTTP::Client.new(pool: { size: 3 }) }
    { per_key: "3", max: 0, max_idle: -1, idle_timeout: -1, wait: "x" }.each do |name, value|
      assert_usage(/pool: #{name} must be .*, not #{value.inspect}/) { HTTP::Client.new(pool: { name => value }) }
    end
    assert_usage(/pool: takes a Hash of .*, not nil/) { HTTP::Client.new(pool: nil) }
    assert_usage(/connector: takes a Hash of .*, not 3/) { HTTP::Client.new(connector: 3) }
    assert_usage(/cookies: takes .*CookieJar, not String/) { HTTP::Client.new(cookies: "a=b") }
    assert_usage(/timeout: .*conect/) { HTTP::Client.new(timeout: { conect: 3 }) }
    assert_usage(/no scheme/) { HTTP::Client.new(base: "example.org") }
    assert_usage(/tls: .*:verfy/) { HTTP::Client.new(tls: { verfy: false }) }
    assert_usage(/connector: .*:nodely/) { HTTP::Client.new(connector: { nodely: true }) }
    assert_usage(/limits: .*:heads/) { HTTP::Client.new(limits: { heads: 1 }) }
    %i[pool connector tls limits].each { |name| assert_usage(/#{name}: takes a Hash of .* not 5/) { HTTP::Client.new(name => 5) } }
    assert_usage(/cookies: .*CookieJar, not Integer/) { HTTP::Client.new(cookies: 5) }
    ["ftp://h", "http://h:99999", 5].each { |proxy| assert_usage(/proxy/) { HTTP::Client.new(proxy: proxy) } }
  end

  # It does not load what it has the names of.
  def test_it_knows_the_options_of_others
    require "plait/io/tls"
    names = ->(*classes) { classes.flat_map { |one| one.instance_method(:initialize).parameters.map(&:last) } }
    options = HTTP.const_get(:Options)
    assert_equal(names[Plait.const_get(:Io)::TLS::Client], options::TLS)
    of_sockets = Plait.const_get(:Io)::Connector.const_get(:SocketOptions)
    assert_equal(names[Plait.const_get(:Io)::Connector, of_sockets] - %i[tls options allow], options::CONNECTOR)
  end

  def test_each_limit_can_be_raised
    heads = always(fields: Array.new(400) { |number| "X-#{number}: #{"x" * 1_000}" })
    with_origin("/heads" => heads) do |client, origin|
      error = assert_raises(Plait::LimitExceeded) { client.get(origin.url("/heads")) }
      assert_match(/a head over the limit.*raise it with limits: {head: …}/, error.message)
      HTTP::Client.open(**PROXY, limits: { head: 500_000, headers: 500 }) do |own|
        assert_equal(401, own.get(origin.url("/heads")).headers.size)
      end
    end
    assert_equal([5, 7, nil], [{ max_body: 5 }, { max_body: 7, limits: { body: 8 } }, { limits: { body: nil } }]
      .map { |options| HTTP::Client.new(**options).settings.limits.body })
  end

  def assert_usage(pattern, &block) = assert_match(pattern, assert_raises(Plait::UsageError, &block).message)

  # ---- what comes back ----

  def test_a_status_is_no_exception_until_it_is_asked_to_be
    with_origin("/gone" => always("no", status: "404 Not Found")) do |client, origin|
      response = client.get(origin.url("/gone"))
      assert_equal([404, "no"], [response.status, response.body])
      error = assert_raises(Plait::HTTPError) { client.get("#{origin.url("/gone")}?secret=no").raise_for_status! }
      assert_equal(404, error.status)
      assert_match(/404 Not Found/, error.message)
      assert_equal(200, client.get(origin.url("/there")).raise_for_status!.status)
    end
  end

  # As the end of an Enumerator, or a closed queue, does.
  def test_a_stop_iteration_of_a_block_comes_to_the_caller
    with_origin do |client, origin|
      assert_raises(StopIteration) { client.get(origin.url("/")) { [].each.next } }
      assert_raises(ClosedQueueError) { client.get(origin.url("/")) { Queue.new.close << 1 } }
      assert_idle(client)
    end
  end

  def test_gives_compressed_bodies_out_as_they_were
    text = "compress me " * 1_000
    zipped = always(Zlib.gzip(text), fields: ["Content-Encoding: gzip"])
    with_origin("/gzip" => zipped) do |client, origin|
      2.times { assert_equal(text, client.get(origin.url("/gzip")).body) }
      assert_equal(text, client.get(origin.url("/gzip"), headers: { "X" => "long way" }).body)
      pieces = client.get(origin.url("/gzip")) { |response| [response.each_piece.to_a.join, response.decoded?] }
      assert_equal([text, true], pieces)
      zip, plain = %w[/gzip /x].map { |path| client.get(origin.url(path)) }
      assert_equal([true, true, false], [zip, Marshal.load(Marshal.dump(zip)), plain].map(&:decoded?))
      own = client.get(origin.url("/gzip"), headers: { "Accept-Encoding" => "gzip" })
      assert_equal([text, false], [Zlib.gunzip(own.body), own.decoded?], "who asks for a coding gets it")
    end
  end

  def test_without_compression_nothing_is_asked_for_and_nothing_decoded
    zipped = Zlib.gzip("text")
    with_origin("/gzip" => always(zipped, fields: ["Content-Encoding: gzip"]), compression: false) do |client, origin|
      assert_equal(zipped.b, client.get(origin.url("/gzip")).body.b)
      assert_nil(origin.requests.first["accept-encoding"])
    end
  end

  def test_a_decompression_bomb_hits_the_limit_that_is_named
    bomb = always(Zlib.gzip("\0" * 5_000_000), fields: ["Content-Encoding: gzip"])
    with_origin("/bomb" => bomb, max_body: 1_000_000) do |client, origin|
      error = assert_raises(Plait::LimitExceeded) { client.get(origin.url("/bomb")) }
      assert_match(/max_body/, error.message)
      streaming = -> { client.get(origin.url("/bomb")) { |response| response.each_piece { nil } } }
      assert_raises(Plait::LimitExceeded, &streaming)
      assert_idle(client)
    end
  end

  def test_what_is_not_what_its_coding_says_is_an_error
    { "/none" => "plain", "/cut" => Zlib.gzip("x" * 10_000)[0..-10] }.each do |path, body|
      with_origin(path => always(body, fields: ["Content-Encoding: gzip"])) do |client, origin|
        assert_raises(Plait::RemoteProtocolError) { client.get(origin.url(path)) }
        streaming = -> { client.get(origin.url(path)) { |response| response.each_piece { nil } } }
        assert_raises(Plait::RemoteProtocolError, &streaming)
        assert_idle(client)
      end
    end
  end

  def test_a_coding_that_nobody_asked_for_is_left_as_it_is
    with_origin("/odd" => always("bytes", fields: ["Content-Encoding: zstd"])) do |client, origin|
      assert_equal("bytes", client.get(origin.url("/odd")).body)
    end
  end

  def test_a_part_of_a_compressed_body_is_left_as_it_is
    part = Zlib.gzip("text" * 100)[10, 20]
    with_origin("/part" => always(part, status: "206 Partial Content", fields: ["Content-Encoding: gzip"])) do |client, origin|
      assert_equal(part.b, client.get(origin.url("/part"), headers: { "Range" => "bytes=10-29" }).body.b)
    end
  end

  def test_a_part_is_asked_for_as_it_is
    part = { "Range" => "bytes=0-9" }
    with_origin do |client, origin|
      codings = lambda do |from = client, **headers|
        from.get(origin.url("/part"), headers: { **part, **headers })
        origin.requests.last["accept-encoding"]
      end
      assert_nil(codings.call)
      assert_equal("br", codings.call("Accept-Encoding" => "br"))
      HTTP::Client.open(**PROXY, headers: { "Accept-Encoding" => "gzip" }) { |own| assert_equal("gzip", codings.call(own)) }
      HTTP::Client.open(**PROXY, headers: part) { |own| own.get(origin.url("/part")) }
      assert_nil(origin.requests.last["accept-encoding"])
    end
  end

  def test_a_truncated_body_is_no_success
    cut = lambda do |io, _request|
      io.write(answer("half", length: 8))
      false
    end
    with_origin("/cut" => cut) do |client, origin|
      error = assert_raises(Plait::TruncatedError, Plait::ConnectionClosed) { client.get(origin.url("/cut")) }
      assert_match(%r{GET http://127\.0\.0\.1:\d+/cut}, error.message)
      assert_idle(client)
    end
  end

  def test_a_body_over_the_limit_is_refused
    with_origin("/big" => always("x" * 2_000), max_body: 1_000) do |client, origin|
      assert_raises(Plait::LimitExceeded) { client.get(origin.url("/big")) }
      assert_idle(client)
    end
  end

  # ---- streaming ----

  def test_a_block_is_given_the_response_before_its_body
    gate = Queue.new
    slow = lambda do |io, _request|
      io.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")
      gate.pop
      io.write(" last")
    end
    with_origin("/slow" => slow) do |client, origin|
      value = client.get(origin.url("/slow")) do |response|
        assert_equal(200, response.status)
        response.each_piece.map do |piece|
          gate << true
          piece
        end
      end
      assert_equal("first last", value.join)
      client.get(origin.url("/next"))
      assert_equal(1, origin.connections)
    end
  end

  def test_leaving_the_block_early_closes_the_connection
    endless = lambda do |io, _request|
      io.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      loop { io.write("10000\r\n#{"x" * 65_536}\r\n") }
    end
    with_origin("/endless" => endless) do |client, origin|
      client.get(origin.url("/endless")) { |response| response.each_piece { break } }
      wait_until { origin.open_connections.zero? }
      assert_raises(KeyError) { client.get(origin.url("/endless")) { |response| response.each_piece { raise KeyError } } }
      wait_until { origin.open_connections.zero? }
      assert_equal(:left, catch(:out) { client.get(origin.url("/endless")) { throw(:out, :left) } })
      wait_until { origin.open_connections.zero? }
      assert_idle(client)
    end
  end

  def test_a_small_body_that_nobody_reads_does_not_cost_the_connection
    with_origin("/small" => always("x" * 10_000)) do |client, origin|
      3.times { assert_equal(200, client.get(origin.url("/small"), &:status)) }
      assert_equal(1, origin.connections)
    end
  end

  def test_a_large_body_that_nobody_reads_costs_the_connection
    with_origin("/large" => always("x" * 1_000_000)) do |client, origin|
      2.times { assert_equal(200, client.get(origin.url("/large"), &:status)) }
      assert_equal(2, origin.connections)
      assert_idle(client)
    end
  end

  def test_a_body_that_does_not_come_keeps_nobody_waiting
    stalled = ->(io, _request) { io.write(answer("half", length: 8)) && sleep }
    with_origin("/stalled" => stalled) do |client, origin|
      assert_operator(stopwatch { assert_equal(200, client.get(origin.url("/stalled"), &:status)) }, :<, 25)
      assert_idle(client)
    end
  end

  def test_a_body_is_not_read_after_its_block
    with_origin do |client, origin|
      kept = client.get(origin.url("/x"), &:itself)
      assert_raises(Plait::UsageError) { kept.each_piece { nil } }
    end
  end

  def test_a_body_that_comes_in_pieces_is_not_taken_for_an_empty_one
    with_origin do |client, origin|
      client.get(origin.url("/x")) do |response|
        %i[text json].each { |name| assert_match(/each_piece/, assert_raises(Plait::UsageError) { response.public_send(name) }.message) }
        assert_equal("GET /x ", response.each_piece.to_a.join)
      end
    end
  end

  def test_errors_of_a_body_that_comes_in_pieces_name_its_url
    zipped = Zlib.gzip("x" * 1000)
    short, broken = [zipped[0...-5], "no gzip"].map { |body| always(body, fields: ["Content-Encoding: gzip"]) }
    cut = ->(io, _request) { io.write(answer("half", length: 8)) && false }
    with_origin("/short" => short, "/broken" => broken, "/cut" => cut) do |client, origin|
      %w[/short /broken /cut].each do |path|
        error = assert_raises(Plait::RemoteProtocolError) { client.get(origin.url(path)) { |response| response.each_piece { nil } } }
        assert_includes(error.message, "GET #{origin.url(path)}")
        assert_equal(1, origin.count(path))
      end
    end
  end

  def test_errors_of_the_block_are_its_own_and_nothing_is_repeated
    with_origin(retries: 3) do |client, origin|
      error = Plait::ConnectionClosed.new("of the block", retry_safe: true)
      raised = assert_raises(Plait::ConnectionClosed) { client.get(origin.url("/x")) { raise error } }
      assert_same(error, raised)
      assert_equal(1, origin.requests.size)
    end
  end

  def test_a_streamed_response_follows_redirects_first
    with_origin("/from" => redirect("/to")) do |client, origin|
      assert_equal(["GET /to "], client.get(origin.url("/from")) { |response| response.each_piece.to_a })
      assert_equal(1, origin.connections)
    end
  end

  # ---- timeouts ----

  def test_timeouts_name_the_phase_and_close_the_connection
    silent = ->(_io, _request) { sleep }
    stalled = lambda do |io, _request|
      io.write(answer("half", length: 8))
      sleep
    end
    with_origin("/silent" => silent, "/stalled" => stalled, timeout: { first_byte: 0.2, read: 0.2 }) do |client, origin|
      error = assert_raises(Plait::ReadTimeout) { client.get(origin.url("/silent")) }
      assert_match(%r{sent no answer in time.*GET http://127.0.0.1:\d+/silent}, error.message)
      error = assert_raises(Plait::ReadTimeout) { client.get(origin.url("/stalled"), timeout: { first_byte: 60 }) }
      assert_match(/did not go on with its answer/, error.message)
      wait_until { origin.open_connections <= 2 }
      assert_idle(client)
      assert_equal("GET /x ", client.get(origin.url("/x"), timeout: { first_byte: 60, read: 60 }).body)
    end
  end

  def test_timeouts_name_the_option_that_has_set_the_time
    slow = ->(_io, _) { sleep }
    half = ->(io, _) { io.write(answer("half", length: 8)) && sleep }
    with_origin("/slow" => slow, "/half" => half, pool: { per_key: 1 }) do |client, origin|
      [["/slow", { first_byte: 0.05, total: 60 }, "first_byte: 0.05"], ["/slow", 0.05, "total: 0.05"],
       ["/half", { read: 0.05, total: 60 }, "read: 0.05"], ["/half", 0.05, "total: 0.05"]].each do |path, seconds, option|
        [-> { client.get(origin.url(path), timeout: seconds) }, -> { client.fan_out([origin.url(path)], timeout: seconds) },
         -> { client.get(origin.url(path), timeout: seconds) { |response| response.each_piece { nil } } }].each do |call|
          assert_includes(assert_raises(Plait::TimeoutError, &call).message, "timeout: {#{option}}")
        end
      end
    end
  end

  def test_a_connection_that_does_not_come_in_time_names_its_option
    never = Object.new
    def never.resolve(*, deadline:) = sleep(deadline.remaining) && raise(Plait::ConnectTimeout, "late")
    HTTP::Client.open(connector: { resolver: never }, proxy: false) do |client|
      { { connect: 0.05 } => "timeout: {connect: 0.05}", 0.05 => "timeout: {total: 0.05}" }.each do |timeout, option|
        error = assert_raises(Plait::ConnectTimeout) { client.get("http://never.test/", timeout: timeout) }
        assert_includes(error.message, option)
      end
    end
    with_origin("/slow" => ->(_io, _) { sleep }, pool: { per_key: 1, wait: 0.05 }) do |client, origin|
      busy = Thread.new { client.get(origin.url("/slow")) }.tap { |thread| thread.report_on_exception = false }
      wait_until { origin.requests.any? }
      assert_includes(assert_raises(Plait::PoolTimeout) { client.get(origin.url("/x")) }.message, "pool: {wait: 0.05}")
      busy.kill.join
    end
  end

  def test_the_timeout_of_the_whole_covers_redirects_and_retries
    endless = lambda do |io, request|
      sleep(0.1)
      io.write(answer(status: "302 Found", fields: ["Location: /r?#{request.query.to_i + 1}"]))
    end
    with_origin("/r" => endless) do |client, origin|
      seconds = stopwatch do
        assert_raises(Plait::TimeoutError) { client.get(origin.url("/r"), timeout: 0.5, redirects: 1_000) }
      end
      assert_operator(seconds, :<, 50) # it would be more than 100
    end
  end

  def test_the_connect_timeout_covers_resolving
    resolver = Object.new
    def resolver.resolve(host, port, deadline:)
      sleep(deadline.remaining)
      raise Plait::ConnectTimeout.new("no address of #{host} in time", endpoint: "#{host}:#{port}", phase: :resolve)
    end
    HTTP::Client.open(timeout: { connect: 0.2 }, connector: { resolver: resolver }, **PROXY) do |client|
      error = assert_raises(Plait::ConnectTimeout) { client.get("http://slow.test/") }
      assert_equal(:resolve, error.phase)
      assert_match(%r{GET http://slow.test/.*connect: 0.2}, error.message)
    end
  end

  def test_nor_does_what_it_was_told
    client = HTTP::Client.new(auth: %w[me secret], proxy: "http://me:secret@h", headers: { "X-Key" => "secret" })
    refute_match(/secret/, client.inspect + client.settings.inspect)
  end

  def test_errors_never_tell_a_password
    error = assert_raises(Plait::ConnectError) { HTTP.get("http://user:secret@127.0.0.1:1/x?y") }
    assert_match(%r{GET http://127\.0\.0\.1:1/x\?y}, error.message)
    refute_match(/secret/, error.full_message)
  end

  # ---- the environment ----

  def test_it_loads_neither_openssl_nor_net_http
    code = 'require "plait"; Plait::HTTP::Client.new; print($".grep(%r{/(openssl|net/http|http/net_http)\.rb}).size)'
    result = Support::FreshRuby.run(code, flags: ["-w"])
    assert_equal(["0", ""], [result.out, result.err])
  end

  def test_beside_a_real_server
    server = Support::NginxServer.start(server: "location /hello { return 200 hi; } location /to { return 302 /hello; }")
    HTTP::Client.open(**PROXY) do |client|
      assert_equal("hi", client.get("#{server.url}/hello").body)
      assert_equal("hi", client.get("#{server.url}/to").body)
      assert_equal(404, client.get("#{server.url}/nothing").status)
      assert_equal(1, client.statistics[:connected])
    end
  ensure
    server&.stop
  end
end
