# frozen_string_literal: true

require_relative "scripted_origin"
require "support/certificates"

# RFC 9110 §15.4: which responses are followed, with which method, and what is left behind.
class HTTPRedirectsTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP

  def test_follows_and_keeps_what_led_there
    with_origin("/a" => redirect("/b?x=1"), "/b" => redirect("c", status: "301 Moved Permanently")) do |client, origin|
      response = client.get(origin.url("/a"))
      assert_equal(["GET /c ", origin.url("/c")], [response.body, response.url])
      assert_equal([[302, origin.url("/a")], [301, origin.url("/b?x=1")]], response.redirects.map { |r| [r.status, r.url] })
      assert_empty(client.get(origin.url("/c")).redirects)
      assert_equal(1, origin.connections)
    end
  end

  # status => method => what it becomes
  {
    301 => { "POST" => "GET", "PUT" => "PUT", "GET" => "GET", "HEAD" => "HEAD" },
    302 => { "POST" => "GET", "DELETE" => "DELETE" },
    303 => { "POST" => "GET", "PUT" => "GET", "HEAD" => "HEAD" },
    307 => { "POST" => "POST", "PATCH" => "PATCH" },
    308 => { "POST" => "POST", "GET" => "GET" }
  }.each do |status, methods|
    methods.each do |before, after|
      define_method("test_#{status}_to_#{before}_is_followed_by_#{after}") do
        with_origin("/from" => redirect("/to", status: "#{status} Elsewhere")) do |client, origin|
          body = "content" unless %w[GET HEAD].include?(before)
          client.request(before, origin.url("/from"), body: body, headers: { "Content-Type" => "text/plain", "X-Mine" => "1" })
          sent = origin.requests.last
          kept = before == after
          assert_equal([after, kept ? body.to_s : ""], [sent.verb, sent.body.to_s])
          assert_equal([kept ? "text/plain" : nil, "1"], [sent["content-type"], sent["x-mine"]])
          assert_nil(sent["content-length"]) unless kept && body
        end
      end
    end
  end

  def test_a_call_may_follow_none_and_try_once
    busy = always("later", status: "503 Later")
    with_origin("/r" => redirect("/x"), "/busy" => busy, retries: { count: 2, base: 0.001 }) do |client, origin|
      [false, 0].each do |none|
        assert_equal(302, client.get(origin.url("/r"), redirects: none).status)
        client.get(origin.url("/r"), redirects: none) { |response| assert_equal(302, response.status) }
        assert_equal(302, Plait::HTTP.get(origin.url("/r"), redirects: none).status)
        assert_equal(503, client.get(origin.url("/busy"), retries: none).status)
      end
      assert_equal([0, 2], [origin.count("/x"), origin.count("/busy")])
      [nil, true, 10].each { |some| assert_equal(200, client.get(origin.url("/r"), redirects: some).status) }
      assert_equal([503, 5], [client.get(origin.url("/busy"), retries: nil).status, origin.count("/busy")])
      ["no", -1, 1.5, Object].each do |bad|
        %i[redirects retries].each { |name| assert_raises(Plait::UsageError) { client.get(origin.url("/x"), name => bad) } }
      end
      assert_raises(Plait::UsageError) { client.get(origin.url("/x"), retries: true) }
    end
  end

  def test_a_location_with_a_password_is_not_shown
    with_origin("/post" => redirect("http://u:s3cret@127.0.0.1/", status: "307 There")) do |client, origin|
      error = assert_raises(Plait::RedirectError) { client.post(origin.url("/post"), body: %w[a b].each) }
      refute_match(/s3cret/, error.message)
    end
  end

  def test_what_is_no_redirect_is_given_out
    { "/300" => "300 Multiple Choices", "/304" => "304 Not Modified", "/305" => "305 Use Proxy" }.each do |path, status|
      with_origin(path => redirect("/x", status: status)) do |client, origin|
        assert_equal(status.to_i, client.get(origin.url(path)).status)
      end
    end
    with_origin("/lost" => always("", status: "302 Found")) do |client, origin|
      assert_equal(302, client.get(origin.url("/lost")).status)
    end
  end

  def test_none_are_followed_where_none_are_allowed
    with_origin("/a" => redirect("/b"), redirects: 0) do |client, origin|
      assert_equal(302, client.get(origin.url("/a")).status)
      assert_equal(200, client.get(origin.url("/a"), redirects: 1).status)
    end
  end

  def test_too_many_name_the_limit
    endless = ->(io, request) { io.write(answer(status: "302 Found", fields: ["Location: /n?#{request.query.to_i + 1}"])) }
    with_origin("/n" => endless) do |client, origin|
      error = assert_raises(Plait::TooManyRedirects) { client.get(origin.url("/n"), redirects: 3) }
      assert_match(/redirects: 3/, error.message)
      assert_equal(302, error.response.status)
      assert_equal(4, origin.requests.size)
      assert_raises(Plait::TooManyRedirects) { client.get(origin.url("/n?100")) }
      assert_equal(4 + 11, origin.requests.size)
    end
  end

  def test_a_circle_is_seen_at_once
    with_origin("/a" => redirect("/b"), "/b" => redirect("/a")) do |client, origin|
      error = assert_raises(Plait::RedirectError) { client.get(origin.url("/a")) }
      assert_match(/circle/, error.message)
      refute_kind_of(Plait::TooManyRedirects, error)
      assert_equal(2, origin.requests.size)
    end
  end

  def test_a_redirect_to_itself_is_called_that
    with_origin("/a" => redirect("/a#again")) do |client, origin|
      error = assert_raises(Plait::RedirectError) { client.get(origin.url("/a#b")) }
      assert_match(/redirects to itself/, error.message)
      refute_kind_of(Plait::TooManyRedirects, error)
      assert_equal(1, origin.requests.size)
    end
  end

  # RFC 9110 §10.2.2
  def test_a_fragment_is_never_sent_and_stays_with_the_last_url
    with_origin("/a" => redirect("/b"), "/c" => redirect("/b#own")) do |client, origin|
      calls = { "plain" => ->(url) { client.get(url) }, "request" => ->(url) { client.get(url, {}) },
                "stream" => ->(url) { client.get(url, &:itself) }, "fan_out" => ->(url) { client.fan_out([url])[0] },
                "fan_out of a request" => ->(url) { client.fan_out([{ url: url }])[0] } }
      calls.each do |how, call|
        { "/b#f" => "/b#f", "/a#f" => "/b#f", "/c#f" => "/b#own", "/b" => "/b", "/a" => "/b" }.each do |asked, last|
          assert_equal(origin.url(last), call.call(origin.url(asked)).url, how)
        end
      end
      assert_empty(origin.requests.map(&:target).grep(/#/))
    end
  end

  def test_a_proxy_hears_of_no_fragment
    ScriptedOrigin.open do |proxy|
      HTTP::Client.open(proxy: proxy.url) { |client| assert_equal("http://a.test/b#c", client.get("http://a.test/b#c").url) }
      assert_equal(["http://a.test/b"], proxy.requests.map(&:target))
    end
  end

  def test_a_circle_that_a_cookie_ends_is_none
    seen = lambda do |io, request|
      asked = { status: "302 Found", fields: ["Location: /a", "Set-Cookie: a=1"] }
      io.write(request["cookie"] ? answer(request["cookie"]) : answer(**asked))
    end
    with_origin("/a" => seen, cookies: true) do |client, origin|
      assert_equal("a=1", client.get(origin.url("/a")).body)
    end
  end

  def test_credentials_stay_with_their_origin
    ScriptedOrigin.open do |other|
      with_origin("/same" => redirect("/end"), "/away" => redirect(other.url("/end")), cookies: true) do |client, origin|
        secret = { headers: { "Cookie" => "a=1", "X-Mine" => "1", "Proxy-Authorization" => "p" }, auth: %w[user secret] }
        client.get(origin.url("/same"), **secret)
        client.get(origin.url("/away"), **secret)
        assert_equal(["Basic dXNlcjpzZWNyZXQ=", "a=1"], origin.requests[1].then { |r| [r["authorization"], r["cookie"]] })
        away = other.requests.first
        assert_equal([nil, nil, nil, "1"], %w[authorization cookie proxy-authorization x-mine].map { |name| away[name] })
        assert_equal("127.0.0.1:#{other.port}", away["host"])
      end
    end
  end

  def test_credentials_of_the_client_stay_with_its_origin
    ScriptedOrigin.open do |other|
      ScriptedOrigin.open({ "/away" => redirect(other.url("/end")) }) do |origin|
        clients = [{ base: origin.url, auth: %w[user secret] }, { auth: { bearer: "token" } },
                   { headers: { "Authorization" => "mine", "Cookie" => "a=1" } }]
        clients.each do |options|
          HTTP::Client.open(**options, proxy: false) { |client| client.get(origin.url("/away")) }
          assert(origin.requests.last["authorization"], "#{options} sends it")
          assert_nil(other.requests.last["authorization"], "#{options} sends it elsewhere")
          assert_nil(other.requests.last["cookie"])
        end
      end
    end
  end

  def test_a_host_of_the_client_stays_with_its_origin
    with_origin do |_, there|
      with_origin("/from" => redirect(there.url("/to")), headers: { "Host" => "api.internal" }) do |client, here|
        assert_equal(200, client.get(here.url("/from")).status)
        assert_equal(["api.internal", "127.0.0.1:#{there.port}"], [here, there].map { |one| one.requests.first["host"] })
      end
    end
  end

  def test_once_sent_elsewhere_credentials_do_not_come_back
    ScriptedOrigin.open do |other|
      with_origin("/away" => redirect(other.url("/back")), auth: %w[user secret]) do |client, origin|
        other.routes["/back"] = redirect("/again")
        other.routes["/again"] = redirect(origin.url("/end"))
        client.get(origin.url("/away"))
        assert_equal([nil, nil], other.requests.map { |request| request["authorization"] })
        assert_nil(origin.requests.last["authorization"])
      end
    end
  end

  def test_a_userinfo_in_a_location_is_used
    with_origin do |client, origin|
      origin.routes["/a"] = redirect("http://user:secret@127.0.0.1:#{origin.port}/b")
      response = client.get(origin.url("/a"))
      assert_equal("Basic dXNlcjpzZWNyZXQ=", origin.requests.last["authorization"])
      refute_match(/secret/, response.url)
    end
  end

  def test_a_body_that_can_be_sent_again_is
    with_origin("/a" => redirect("/b", status: "307 Temporary Redirect")) do |client, origin|
      file = StringIO.new("0123456789")
      file.read(3)
      client.put(origin.url("/a"), body: file)
      client.put(origin.url("/a"), body: "text")
      assert_equal(%w[3456789 3456789 text text], origin.requests.map(&:body))
    end
  end

  def test_a_body_that_can_not_be_sent_again_is_an_error
    with_origin("/a" => redirect("/b", status: "307 Temporary Redirect")) do |client, origin|
      once = Enumerator.new { |sink| sink << "x" }
      reader, writer = IO.pipe
      writer << "x"
      writer.close
      error = assert_raises(Plait::RedirectError) { client.post(origin.url("/a"), body: reader) }
      assert_match(/can't\s+be sent again/, error.message)
      assert_equal(1, origin.requests.size)
      client.post(origin.url("/b"), body: once)
    ensure
      reader.close
    end
  end

  def test_bytes_that_servers_leave_as_they_are
    { "/caf\u00e9 b?\u00fc" => "/caf%C3%A9%20b?%C3%BC", "/\xE9".b => "/%E9", "/a%20b" => "/a%20b" }.each do |location, target|
      with_origin("/from" => redirect(location)) do |client, origin|
        assert_equal("GET #{target} ", client.get(origin.url("/from")).body)
      end
    end
    with_origin("/from" => redirect("http://b\u00fccher.test/")) do |client, origin|
      assert_match(/Punycode/, assert_raises(Plait::RedirectError) { client.get(origin.url("/from")) }.message)
    end
  end

  def test_two_places_at_once_are_none
    routes = { "/from" => redirect("/a", fields: ["Location: /b"]), "/same" => redirect("/a", fields: ["location: /a"]) }
    with_origin(**routes) do |client, origin|
      assert_match(/has 2 Locations/, assert_raises(Plait::RedirectError) { client.get(origin.url("/from")) }.message)
      assert_equal("GET /a ", client.get(origin.url("/same")).body)
    end
  end

  def test_where_it_leads_must_be_a_url_of_ours
    ["ftp://example.org/", "http://", "mailto:x@y", "http://exa mple/"].each do |location|
      with_origin("/a" => redirect(location)) do |client, origin|
        error = assert_raises(Plait::RedirectError) { client.get(origin.url("/a")) }
        assert_equal(302, error.response.status)
        assert_idle(client)
      end
    end
  end

  def test_from_https_to_http_only_where_that_is_allowed
    ScriptedOrigin.open do |plain|
      with_tls("/down" => redirect(plain.url("/x"))) do |origin, tls|
        HTTP::Client.open(tls: tls, proxy: false) do |client|
          error = assert_raises(Plait::RedirectError) { client.get(origin.url("/down", host: "localhost")) }
          assert_match(/downgrade: true/, error.message)
          assert_empty(plain.requests)
          response = client.get(origin.url("/down", host: "localhost"), redirects: { downgrade: true })
          assert_equal("GET /x ", response.body)
        end
      end
    end
  end

  def test_a_streamed_redirect_with_a_large_body_costs_its_connection_and_nothing_else
    large = ->(io, _request) { io.write(answer("x" * 500_000, status: "302 Found", fields: ["Location: /b"])) }
    with_origin("/a" => large) do |client, origin|
      assert_equal(["GET /b "], client.get(origin.url("/a")) { |response| response.each_piece.to_a })
      assert_idle(client)
    end
  end

  private

  def with_tls(routes)
    require "openssl"
    authority = Certificates::Authority.new
    leaf = authority.issue("DNS:localhost")
    context = OpenSSL::SSL::SSLContext.new
    context.cert, context.key = leaf.certificate, leaf.key
    ScriptedOrigin.open(routes, tls: context) { |origin| yield(origin, { cert_store: authority.store }) }
  end
end
