# frozen_string_literal: true

require_relative "scripted_origin"
require "support/certificates"
require "support/apache_server"

# The client beside an Apache httpd that speaks TLS, and HTTP/2.
class HTTPApacheTLSTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP
  AUTHORITY = Certificates::Authority.new
  LEAF = AUTHORITY.issue("DNS:localhost")
  TLS = { cert_store: AUTHORITY.store }.freeze

  FILES = {
    "a.txt" => "page",
    "cgi/echo" => "#!/bin/sh\necho 'Content-Type: text/plain'\necho\ncat\n",
    "leaf.pem" => LEAF.certificate.to_pem + LEAF.key.to_pem,
    "authority.pem" => AUTHORITY.pair.certificate.to_pem
  }.freeze

  def test_a_session_is_resumed
    with_apache do |url|
      HTTP::Client.open(proxy: false, tls: TLS) do |client|
        told = Array.new(3) { client.get("#{url}/a.txt", headers: { "Connection" => "close" })["x-session"] }
        assert_equal(%w[Initial Resumed Resumed], told)
        assert_equal(3, client.statistics[:connected])
      end
    end
  end

  def test_a_server_that_wants_a_certificate
    with_apache("SSLVerifyClient require\nSSLCACertificateFile ${FOLDER}/root/authority.pem") do |url|
      mine = AUTHORITY.issue("DNS:me", name: "ada")
      HTTP::Client.open(proxy: false, tls: { **TLS, **mine.to_h }) do |client|
        assert_equal(%w[page ada], client.get("#{url}/a.txt").then { |response| [response.body, response["x-client"]] })
      end
      HTTP::Client.open(proxy: false, tls: TLS) do |client|
        error = assert_raises(Plait::Error) { client.get("#{url}/a.txt") }
        assert_match(/certificate.required|handshake/i, error.message)
      end
    end
  end

  # Up to TLS 1.2 Apache asks for a second handshake where only a part of a site wants a certificate.
  def test_a_second_handshake_is_refused
    with_apache("SSLProtocol TLSv1.2\nSSLCACertificateFile ${FOLDER}/root/authority.pem\n" \
                "<Location /cgi/>\nSSLVerifyClient require\n</Location>") do |url|
      HTTP::Client.open(proxy: false, tls: { **TLS, **AUTHORITY.issue("DNS:me", name: "ada").to_h }) do |client|
        assert_equal("page", client.get("#{url}/a.txt").body)
        error = assert_raises(Plait::ConnectionClosed) { client.get("#{url}/cgi/echo") }
        assert_match(/handshake failure/, error.message)
        assert_equal("page", client.get("#{url}/a.txt").body)
      end
    end
  end

  def test_names
    with_apache do |url|
      HTTP::Client.open(proxy: false, tls: TLS) do |client|
        error = assert_raises(Plait::CertificateError) { client.get(url.sub("localhost", "127.0.0.1")) }
        assert_match(/127\.0\.0\.1/, error.message)
      end
      assert_raises(Plait::CertificateError) { HTTP.get("#{url}/a.txt", proxy: false) }
    end
  end

  def test_http2
    skip("the gem http-2 is not installed: bin/setup test") if Gem::Specification.find_all_by_name("http-2").empty?
    with_apache("Protocols h2 http/1.1") do |url|
      HTTP::Client.open(proxy: false, tls: TLS, http2: true) do |client|
        first = client.get("#{url}/a.txt")
        assert_equal(%w[2 page], [first.version, first.body])
        assert_equal(["page"], client.fan_out(["#{url}/a.txt"] * 200, limit: 50).map(&:body).uniq)
        assert_equal("x" * 200_000, client.post("#{url}/cgi/echo", body: "x" * 200_000).body)
        assert_equal([200, 404], %w[a.txt none].map { |at| client.head("#{url}/#{at}").status })
        assert_idle(client)
      end
    end
  end

  private

  # @param config [String] of the host with TLS
  # @yieldparam url [String]
  def with_apache(config = "")
    port = Support::Server.free_port
    Support::ApacheServer.start(modules: %w[ssl socache_shmcb http2 cgid], config: secure(port, config), files: FILES) do
      yield("https://localhost:#{port}")
    end
  end

  def secure(port, config)
    <<~CONF
      Listen 127.0.0.1:#{port}
      SSLSessionCache shmcb:${FOLDER}/sessions
      ScriptSock cgid
      ScriptAlias /cgi/ ${ROOT}/cgi/
      <Directory ${ROOT}/cgi>
        Options ExecCGI
      </Directory>
      <VirtualHost *:#{port}>
        SSLEngine on
        SSLCertificateFile ${ROOT}/leaf.pem
        Header set X-Session "%{SSL_SESSION_RESUMED}s"
        Header set X-Client "%{SSL_CLIENT_S_DN_CN}s"
        #{config}
      </VirtualHost>
    CONF
  end
end
