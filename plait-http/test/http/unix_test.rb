# frozen_string_literal: true

require_relative "scripted_origin"
require "support/certificates"
require "tmpdir"

# `unix: path`: all requests of a client go to a UNIX socket.
class HTTPUnixTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP

  def test_calls_keep_their_connection
    with_socket do |path, origin|
      HTTP::Client.open(unix: path, base: "http://docker/v1/") do |client|
        assert_equal("GET /v1/info?a=1 ", client.get("info", query: { a: 1 }).body)
        assert_equal("POST /v1/x 1", client.post("x", body: "1").body)
        assert_equal("GET /v1/y ", client.stream(:get, "y").each_piece.to_a.join)
        assert_equal(["GET /v1/z "] * 3, client.fan_out(["z"] * 3, limit: 1).map(&:body))
        assert_equal([["docker", 1]], origin.requests.map { |request| [request["host"], request.connection] }.uniq)
      end
    end
  end

  def test_no_other_client_gets_its_connections
    with_socket do |path, origin|
      with_origin do |client, other|
        url = other.url("/x")
        local = client.with(unix: path)
        2.times { [client, local].each { |one| one.get(url) } }
        assert_equal([2, 2], [origin.requests.size, other.requests.size])
        assert_equal("GET /x ", HTTP.get(url, unix: path).body)
        HTTP.get(url, proxy: false)
        assert_equal([3, 3], [origin.requests.size, other.requests.size])
      end
    end
  end

  def test_https_is_encrypted_and_verified_there_too
    authority = Certificates::Authority.new
    context = OpenSSL::SSL::SSLContext.new
    authority.issue("DNS:here.example").then { |pair| context.add_certificate(pair.certificate, pair.key) }
    with_socket(tls: context) do |path, _|
      HTTP::Client.open(unix: path, tls: { cert_store: authority.store }) do |client|
        assert_equal("GET /x ", client.get("https://here.example/x").body)
        assert_raises(Plait::CertificateError) { client.get("https://there.example/x") }
      end
    end
  end

  def test_a_redirect_stays_there
    with_socket({ "/r" => redirect("http://elsewhere.example/x") }) do |path, origin|
      assert_equal("GET /x ", HTTP.get("http://here.example/r", unix: path).body)
      assert_equal(%w[here.example elsewhere.example], origin.requests.map { |request| request["host"] })
    end
  end

  def test_none_listens
    error = assert_raises(Plait::ConnectError) { HTTP.get("http://localhost/", unix: "/nonexistent/socket") }
    assert_includes(error.message, "/nonexistent/socket")
  end

  def test_what_can_not_be
    [{ unix: 5 }, { unix: "x" * 200 }, { unix: "" }, { unix: "/a", proxy: "http://b:1" },
     { unix: "/a", public_only: true }].each do |options|
      assert_raises(Plait::UsageError, options.inspect) { HTTP::Client.new(**options) }
    end
  end

  private

  def with_socket(routes = {}, **options)
    Dir.mktmpdir("plait-test-") do |folder|
      path = File.join(folder, "socket")
      ScriptedOrigin.open(routes, path: path, **options) { |origin| yield(path, origin) }
    end
  end
end
