# frozen_string_literal: true

require_relative "scripted_origin"
require "digest"
require "tempfile"

# Credentials that a server's answer leads to: Digest, and new ones after a 401. And what a file has for a host.
class HTTPCredentialsTest < Minitest::Test
  include ClientCases

  Auth = Plait::HTTP.const_get(:Auth)
  Ask = Struct.new(:method, :target) do
    def origin = :any

    def url = self
  end
  Refusal = Struct.new(:fields) do
    def headers = self

    def get_all(_name) = fields
  end

  # ---- digest ----

  # RFC 7616 §3.9.1
  def test_the_example_of_the_rfc
    common = 'realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", ' \
             'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
    { "SHA-256" => "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
      "MD5" => "8ca523f5e9506fed4657c9700eebdbec" }.each do |algorithm, expected|
      digest = Auth::Digest.new("Mufasa", "Circle of Life")
      assert_nil(digest.header(Ask.new("GET", "/dir/index.html")))
      assert(digest.renew(Refusal.new(["Digest #{common}, algorithm=#{algorithm}"]), Ask.new("GET", "/"), 0))
      once = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
      text = SecureRandom.stub(:hex, once) { digest.header(Ask.new("GET", "/dir/index.html")) }
      assert_includes(text, "response=\"#{expected}\"")
      assert_includes(text, "nc=00000001")
    end
  end

  # RFC 2617 §3.5, and RFC 2069 without qop
  def test_older_servers
    digest = Auth::Digest.new("Mufasa", "CircleOfLife")
    digest.renew(Refusal.new(['Basic realm="x", Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"']),
                 Ask.new("GET", "/"), 0)
    first = Digest::MD5.hexdigest("Mufasa:testrealm@host.com:CircleOfLife")
    second = Digest::MD5.hexdigest("GET:/dir/index.html")
    expected = Digest::MD5.hexdigest("#{first}:dcd98b7102dd2f0e8b11d0f600bfb0c093:#{second}")
    text = digest.header(Ask.new("GET", "/dir/index.html"))
    assert_includes(text, "response=\"#{expected}\"")
    refute_match(/qop|cnonce|nc=/, text)
  end

  def test_the_best_challenge_is_answered_and_others_are_left
    digest = Auth::Digest.new("a", "b")
    offers = ['Digest realm="r\"1", nonce="1", algorithm=MD5', 'Digest realm="r\"1", nonce="2", algorithm=SHA-256, qop="auth"']
    assert(digest.renew(Refusal.new(offers), Ask.new("GET", "/"), 0))
    assert_match(/realm="r\\"1", nonce="2".*algorithm=SHA-256/, digest.header(Ask.new("GET", "/")))
    ["Basic realm=x", "Digest", 'Digest realm="x"', 'Digest realm="x", nonce="1", algorithm=SHA-1024',
     'Digest realm="x", nonce="1", qop="auth-int"'].each do |field|
      refute(digest.renew(Refusal.new([field]), Ask.new("GET", "/"), 0), field)
    end
  end

  def test_a_client_answers_the_challenge_and_later_ones_beforehand
    with_origin("/x" => digesting("ann", "secret"), auth: { digest: %w[ann secret] }) do |client, origin|
      assert_equal("GET", client.get(origin.url("/x?a=1")).body)
      assert_equal("POST", client.post(origin.url("/x"), body: "1").body)
      assert_equal("GET", client.with(timeout: 5).get(origin.url("/x")).body)
      assert_equal("GET", client.get(origin.url("/x")) { |response| response.each_piece.to_a.join })
      assert_equal("GET", client.stream(:get, origin.url("/x")).each_piece.to_a.join)
      assert_equal(6, origin.requests.size, "one 401")
      assert_equal(%w[00000001 00000002 00000003 00000004 00000005],
                   origin.requests.filter_map { |request| request["authorization"]&.slice(/nc=(\h+)/, 1) })
      assert_idle(client)
    end
  end

  def test_wrong_ones_are_refused_once
    with_origin("/x" => digesting("ann", "secret")) do |client, origin|
      assert_equal(401, client.get(origin.url("/x"), auth: { digest: %w[ann wrong] }).status)
      assert_equal(2, origin.requests.size)
      assert_equal("PUT", client.put(origin.url("/x"), body: "1", auth: { digest: %w[ann secret] }).body)
    end
  end

  def test_no_other_origin_gets_them
    ScriptedOrigin.open({ "/x" => digesting("ann", "secret") }) do |other|
      with_origin("/r" => redirect(other.url("/x")), auth: { digest: %w[ann secret] }) do |client, origin|
        assert_equal(401, client.get(origin.url("/r")).status)
        assert_equal([nil], other.requests.map { |request| request["authorization"] })
      end
    end
  end

  # ---- refresh ----

  def test_a_401_asks_for_new_credentials_once
    asked = []
    refresh = lambda do |response|
      asked << response.status
      { bearer: "new" }
    end
    with_origin("/x" => wanting("Bearer new"), auth: { bearer: "old" }, refresh: refresh) do |client, origin|
      assert_equal("in", client.post(origin.url("/x"), body: "1").body)
      assert_equal("in", client.get(origin.url("/x")) { |response| response.each_piece.to_a.join })
      assert_equal("in", client.with(headers: { "X" => "1" }).get(origin.url("/x")).body)
      assert_equal([[401], 4], [asked, origin.requests.size])
      origin.routes["/x"] = wanting("Bearer other")
      assert_equal(401, client.get(origin.url("/x")).status)
      assert_equal([[401, 401], 6], [asked, origin.requests.size])
    end
  end

  def test_many_calls_at_once_ask_once
    count = Queue.new
    refresh = ->(_) { (count << 1) && sleep(0.05) && { bearer: "new" } }
    with_origin("/x" => wanting("Bearer new"), auth: -> { { bearer: "old" } }, refresh: refresh) do |client, origin|
      threads = Array.new(8) { Thread.new { client.get(origin.url("/x")).body } }
      assert_equal(["in"] * 8, threads.map(&:value))
      assert_equal(["in"] * 8, client.fan_out([origin.url("/x")] * 8).map(&:body))
      assert_equal(1, count.size)
      assert_idle(client)
    end
  end

  def test_nothing_new_is_the_end_and_so_is_a_body_that_is_gone
    with_origin("/x" => wanting("Bearer new"), refresh: ->(_) {}) do |client, origin|
      assert_equal([401, 1], [client.get(origin.url("/x")).status, origin.requests.size])
    end
    with_origin("/x" => wanting("Bearer new"), refresh: ->(_) { { bearer: "new" } }) do |client, origin|
      reader, writer = IO.pipe
      writer.tap { |io| io.write("1") }.close
      assert_equal([401, 1], [client.post(origin.url("/x"), body: reader).status, origin.requests.size])
      assert_equal(401, client.get(origin.url("/x"), auth: { bearer: "mine" }).status, "of the caller")
      assert_equal(401, client.get(origin.url("/x"), headers: { "Authorization" => "Bearer mine" }).status)
      assert_equal(3, origin.requests.size)
    ensure
      reader&.close
    end
  end

  def test_a_refresh_may_use_the_client_itself
    refresh = ->(_) { { bearer: @client.get(@url).status.to_s } }
    with_origin("/x" => wanting("Bearer 401"), refresh: refresh) do |client, origin|
      @client = client
      @url = origin.url("/x")
      assert_equal("in", client.get(@url).body)
    end
  end

  def test_a_call_of_the_module_with_credentials_that_are_renewed
    with_origin("/x" => wanting("Bearer new")) do |_, origin|
      refresh = ->(_) { { bearer: "new" } }
      assert_equal("in", Plait::HTTP.get(origin.url("/x"), auth: { bearer: "old" }, refresh: refresh, proxy: false).body)
    end
  end

  # Its own call is refused, too, on another thread, and can't wait for itself.
  def test_a_call_does_not_wait_for_new_credentials_without_end
    refresh = ->(_) { { bearer: Thread.new { @client.get(@url, timeout: { first_byte: 0.3 }).status.to_s }.value } }
    with_origin("/x" => wanting("Bearer 401"), refresh: refresh) do |client, origin|
      @client = client
      @url = origin.url("/x")
      assert_equal("in", client.get(@url).body)
    end
  end

  def test_no_credentials_are_renewed_credentials_neither
    refresh = ->(_) { { bearer: "new" } }
    with_origin("/x" => wanting("Bearer new"), auth: { bearer: "old" }, refresh: refresh) do |client, origin|
      assert_equal(401, client.with(auth: false).get(origin.url("/x")).status)
      assert_equal([nil], origin.requests.map { |request| request["authorization"] })
    end
  end

  # A server takes each count of a nonce once.
  def test_the_answers_to_one_challenge_are_counted_on
    digest = Auth::Digest.new("ann", "secret")
    ask = Ask.new("GET", "/")
    counts = Array.new(3) do
      digest.renew(Refusal.new(['Digest realm="r", nonce="n", qop="auth"']), ask, 0)
      digest.header(ask)[/nc=(\d+)/, 1]
    end
    assert_equal(%w[00000001 00000002 00000003], counts)
    digest.renew(Refusal.new(['Digest realm="r", nonce="other", qop="auth"']), ask, 0)
    assert_includes(digest.header(ask), "nc=00000001")
  end

  # ---- netrc ----

  NETRC = <<~FILE
    # a comment
    machine 127.0.0.1 login ann password "sec ret\\""
    machine other.example
      login bob
      account none
      password #hash
    macdef init
      machine 127.0.0.1 login evil password evil

    default login any password thing
  FILE

  def test_a_file_has_users_and_passwords
    netrc = Auth::Netrc.new(NETRC)
    assert_equal([["ann", 'sec ret"'], ["bob", "#hash"], %w[any thing]], %w[127.0.0.1 other.example x].map { |host| netrc[host] })
    assert_nil(Auth::Netrc.new("machine x login y")["x"])
    assert_nil(Auth::Netrc.new("")["x"])
  end

  def test_a_client_gives_them_where_there_are_no_others
    Tempfile.create("plait-test-netrc") do |file|
      file.tap { |io| io.write(NETRC) }.flush
      with_origin("/r" => redirect("/x"), netrc: file.path) do |client, origin|
        client.get(origin.url("/r"))
        client.get(origin.url("/x"), auth: { bearer: "own" })
        client.get(origin.url("/x"), auth: false)
        basic = "Basic #{['ann:sec ret"'].pack("m0")}"
        assert_equal([basic, basic, "Bearer own", nil], origin.requests.map { |request| request["authorization"] })
      end
    end
  end

  def test_without_the_option_there_is_none_and_a_missing_file_is_a_mistake
    with_origin { |client, origin| client.get(origin.url("/")) and assert_nil(origin.requests.last["authorization"]) }
    assert_raises(Plait::UsageError) { Plait::HTTP::Client.new(netrc: "/nonexistent/netrc") }
    assert_raises(Plait::UsageError) { Plait::HTTP::Client.new(netrc: 5) }
    assert_raises(Plait::UsageError) { Plait::HTTP::Client.new(refresh: 5) }
    assert_raises(Plait::UsageError) { Plait::HTTP::Client.new(refresh: -> {}, auth: { digest: %w[a b] }) }
    error = assert_raises(Plait::UsageError) { Plait::HTTP::Client.new(auth: { digest: %w[us:er secret] }) }
    refute_includes(error.message, "secret")
  end

  private

  def wanting(field)
    ->(io, request) { io.write(request["authorization"] == field ? answer("in") : answer("out", status: "401 No")) }
  end

  # Checks what the client answers, as a server does.
  def digesting(user, password)
    challenge = 'Digest realm="r", nonce="n1", qop="auth", algorithm=SHA-256, opaque="o"'
    lambda do |io, request|
      said = request["authorization"].to_s.scan(/(\w+)="?([^",]+)/).to_h
      known = said["response"] == expected(said, request, user, password) && said["uri"] == request.target
      io.write(known ? answer(request.verb) : answer("", status: "401 No", fields: ["WWW-Authenticate: #{challenge}"]))
    end
  end

  def expected(said, request, user, password)
    hash = Digest::SHA256
    middle = said.values_at("nonce", "nc", "cnonce", "qop").join(":")
    ends = ["#{user}:r:#{password}", "#{request.verb}:#{request.target}"].map { |text| hash.hexdigest(text) }
    hash.hexdigest([ends.first, middle, ends.last].join(":"))
  end
end
