# frozen_string_literal: true

require_relative "scripted_origin"
require_relative "../io/certificates"
require_relative "../support/nginx_server"

# The client on HTTP/2, beside a real server that offers it by ALPN.
class HTTPClientHTTP2Test < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP

  def setup
    super
    skip("the gem http-2 is not installed: bin/setup test") if Gem::Specification.find_all_by_name("http-2").empty?
  end

  def test_many_at_once_share_a_connection
    with_nginx do |url, tls|
      HTTP::Client.open(http2: true, tls: tls, proxy: false) do |client|
        first = client.get("#{url}/hello?0")
        assert_equal(["2", "hello 0"], [first.version, first.body])
        bodies = client.fan_out((1..100).map { |number| "#{url}/hello?#{number}" }, limit: 32).map(&:body)
        assert_equal((1..100).map { |number| "hello #{number}" }, bodies)
        threads = Plait.map(1..50, on: :threads, limit: 8) { |number| client.get("#{url}/hello?#{number}").body }
        assert_equal((1..50).map { |number| "hello #{number}" }, threads)
        assert_equal(1, client.fan_out(["#{url}/number"] * 5, limit: 5).map(&:body).uniq.size, "connections of these")
        assert_idle(client)
      end
    end
  end

  def test_bodies_redirects_and_streams
    with_nginx do |url, tls|
      HTTP::Client.open(http2: true, tls: tls, proxy: false) do |client|
        assert_equal("hello to", client.get("#{url}/from").body)
        assert_equal(500_000, client.get("#{url}/big") { |response| response.each_piece.sum(&:bytesize) })
        assert_equal(:left, client.get("#{url}/big") { |response| response.each_piece { break :left } })
        assert_equal("hello 1", client.get("#{url}/hello?1").body)
        assert_equal(405, client.post("#{url}/big", body: "x" * 100_000).status)
        assert_idle(client)
      end
    end
  end

  def test_where_it_is_not_offered_or_not_asked_for_it_is_the_older_one
    with_nginx(http2: false) do |url, tls|
      HTTP::Client.open(http2: true, tls: tls, proxy: false) { |client| assert_equal("1.1", client.get("#{url}/hello").version) }
    end
    with_nginx do |url, tls|
      HTTP::Client.open(tls: tls, proxy: false) { |client| assert_equal("1.1", client.get("#{url}/hello").version) }
    end
  end

  private

  def with_nginx(http2: true)
    Dir.mktmpdir("plait-test-") do |folder|
      authority = Certificates::Authority.new
      leaf = authority.issue("DNS:localhost")
      File.write("#{folder}/leaf.pem", leaf.certificate.to_pem)
      File.write("#{folder}/leaf.key", leaf.key.to_pem)
      port = Support::Server.free_port
      Support::NginxServer.start(server: configuration(folder, port, http2)) do |nginx|
        File.write("#{nginx.root}/big", "x" * 500_000)
        yield("https://localhost:#{port}", { cert_store: authority.store })
      end
    end
  end

  def configuration(folder, port, http2)
    <<~CONF
      listen 127.0.0.1:#{port} ssl#{" http2" if http2};
      ssl_certificate #{folder}/leaf.pem;
      ssl_certificate_key #{folder}/leaf.key;
      location /hello { return 200 "hello $args"; }
      location /number { return 200 "$connection"; }
      location /from { return 302 /hello?to; }
    CONF
  end
end
