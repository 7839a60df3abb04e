# frozen_string_literal: true

require_relative "scripted_origin"
require "support/certificates"
require "support/interrupts"
require "support/nginx_server"

# The client on HTTP/2, beside a real server that offers it by ALPN.
class HTTPClientHTTP2Test < Minitest::Test
  include ClientCases
  include Support::Interrupts

  HTTP = Plait::HTTP

  # Some tests interrupt anywhere, each hundreds of times.
  def hard_timeout = 300

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

  # As it does after so many requests (a thousand, unless it is told otherwise), whoever else waits there.
  [nil, :threads, :hybrid, :processes, :sequence].each do |on|
    define_method("test_a_server_that_sends_us_to_another_connection_on_#{on || "fibers"}") do
      http = "keepalive_requests 10; http2_max_concurrent_streams 4; log_format asked '$request';"
      with_nginx(http: http, more: "access_log asked asked;") do |url, tls, server|
        HTTP::Client.open(http2: true, tls: tls, proxy: false) do |client|
          requests = (1..200).flat_map { |id| ["#{url}/hello?#{id}", { url: "#{url}/hello?#{id}", method: :post, body: "once" }] }
          bodies = client.fan_out(requests, limit: { processes: 3, sequence: 1 }.fetch(on, 20), on: on).map(&:body)
          assert_equal((1..200).flat_map { |id| ["hello #{id}"] * 2 }, bodies)
          asked = -> { File.readlines(File.join(server.folder, "asked")) }
          wait_until { asked.call.size >= 400 }
          assert_equal([400, 400], [asked.call.size, asked.call.uniq.size], "each was asked for once")
          assert_idle(client)
        end
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

  def test_a_jar_gets_the_cookies_of_ordinary_calls
    with_nginx(more: 'add_header Set-Cookie "a=1";') do |url, tls|
      jar = HTTP::CookieJar.new
      HTTP::Client.open(http2: true, tls: tls, proxy: false, cookies: jar) do |client|
        assert_equal("2", client.get("#{url}/hello").version)
        assert_equal(1, jar.size)
      end
    end
  end

  # As by HTTP/1.1.
  def test_a_call_under_way_ends_after_its_client_is_closed
    with_nginx do |url, tls|
      client = HTTP::Client.new(http2: true, tls: tls, proxy: false)
      client.get("#{url}/hello")
      open = client.stream(:get, "#{url}/big")
      client.close
      assert_equal(500_000, open.each_piece.sum(&:bytesize))
      assert_raises(Plait::Error) { client.get("#{url}/hello") }
      assert_idle(client)
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

  def test_an_interrupt_anywhere_loses_neither_socket_nor_place
    with_nginx do |url, tls|
      assert_no_socket_lost(step: 13) do
        client = HTTP::Client.new(http2: true, tls: tls, proxy: false)
        [-> { client.get("#{url}/hello") }, lambda do
          sharing = client.connections.instance_variable_get(:@dialer).instance_variable_get(:@sharing)
          assert_equal(client.statistics[:idle], sharing ? sharing.instance_variable_get(:@places).values.sum : 0)
          assert_empty(sharing.instance_variable_get(:@connecting), "others would wait without end") if sharing
          client.close
        end]
      end
    end
  end

  private

  def with_nginx(http2: true, http: "", more: "")
    Dir.mktmpdir("plait-test-") do |folder|
      authority = Certificates::Authority.new
      leaf = authority.issue("DNS:localhost")
      File.write("#{folder}/leaf.pem", leaf.certificate.to_pem)
      File.write("#{folder}/leaf.key", leaf.key.to_pem)
      port = Support::Server.free_port
      Support::NginxServer.start(http: http, server: configuration(folder, port, http2) + more) do |nginx|
        File.write("#{nginx.root}/big", "x" * 500_000)
        yield("https://localhost:#{port}", { cert_store: authority.store }, nginx)
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
