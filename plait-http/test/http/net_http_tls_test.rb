# frozen_string_literal: true

require_relative "net_http_origin"
require "support/nginx_server"
require "open-uri"
require "openssl"
require "tmpdir"

# TLS with an authority of the test's own, and proxies.
class NetHTTPTLSTest < Minitest::Test
  include NetHTTPCases

  # An authority, and certificates from it, as files.
  class Authority
    def initialize(folder)
      @folder = folder
      @key = OpenSSL::PKey::EC.generate("prime256v1")
      @certificate = sign("Test authority", @key, ca: true)
      write("ca.pem", @certificate)
    end

    def path(name) = File.join(@folder, name)

    def issue(name, extension)
      key = OpenSSL::PKey::EC.generate("prime256v1")
      write("#{name}.key", key)
      write("#{name}.pem", sign(name, key, extensions: [extension]))
    end

    def certificate(name) = OpenSSL::X509::Certificate.new(File.read(path("#{name}.pem")))

    def key(name) = OpenSSL::PKey.read(File.read(path("#{name}.key")))

    private

    def write(name, object) = File.write(path(name), object.to_pem)

    def sign(name, key, ca: false, extensions: [])
      certificate = OpenSSL::X509::Certificate.new
      certificate.version = 2
      certificate.serial = rand(1 << 64)
      certificate.subject = OpenSSL::X509::Name.new([["CN", name]])
      certificate.issuer = ca ? certificate.subject : @certificate.subject
      certificate.public_key = key
      certificate.not_before = Time.now - 60
      certificate.not_after = Time.now + 3600
      extend_with(certificate, ca ? [["basicConstraints", "CA:TRUE", true]] : extensions)
      certificate.sign(@key, "SHA256")
    end

    def extend_with(certificate, extensions)
      factory = OpenSSL::X509::ExtensionFactory.new(@certificate, certificate)
      extensions.each { |extension| certificate.add_extension(factory.create_extension(*extension)) }
    end
  end

  def with_tls(protocols: "TLSv1.2 TLSv1.3")
    Dir.mktmpdir("plait-test-") do |folder|
      authority = Authority.new(folder)
      authority.issue("server", ["subjectAltName", "IP:127.0.0.1,DNS:localhost"])
      authority.issue("client", ["extendedKeyUsage", "clientAuth"])
      port = Support::Server.free_port
      Support::NginxServer.start(http: tls_server(authority, port, protocols)) { yield authority, port }
    end
  ensure
    NetHTTP.clear
  end

  def tls_server(authority, port, protocols)
    <<~CONF
      server {
        listen 127.0.0.1:#{port} ssl;
        server_name localhost;
        ssl_certificate #{authority.path("server.pem")};
        ssl_certificate_key #{authority.path("server.key")};
        ssl_client_certificate #{authority.path("ca.pem")};
        ssl_verify_client optional;
        ssl_protocols #{protocols};
        ssl_session_cache shared:test:1m;
        location / { default_type text/plain; return 200 "$connection $ssl_session_reused $ssl_client_s_dn"; }
      }
    CONF
  end

  # keep_alive_timeout: a busy machine lets Net::HTTP's two seconds pass.
  def fetch(authority, port, host: "127.0.0.1", **options)
    options = { ca_file: authority.path("ca.pem"), keep_alive_timeout: 60 }.merge(options)
    Net::HTTP.start(host, port, nil, use_ssl: true, **options) { |http| http.get("/").body.split(" ", 3) }
  end

  def connections(answers) = answers.map(&:first).uniq.size

  def test_connections_are_kept
    with_tls do |authority, port|
      assert_equal(1, connections(Array.new(20) { fetch(authority, port) }))
      seen = Array.new(5) { Thread.new { Array.new(5) { fetch(authority, port) } } }.flat_map(&:value)
      assert_operator(connections(seen), :<=, 5)
    end
  end

  def test_under_fibers
    with_tls do |authority, port|
      seen = Plait.map(0...20, on: :fibers, limit: 5) { fetch(authority, port) }
      assert_operator(connections(seen), :<=, 5)
    end
  end

  # A connection that one has verified is no answer for who verifies more, or otherwise.
  def test_who_verifies_otherwise_gets_no_connection_of_others
    with_tls do |authority, port|
      unverified = { ca_file: nil, verify_mode: OpenSSL::SSL::VERIFY_NONE }
      lax = fetch(authority, port, **unverified)
      assert_raises(OpenSSL::SSL::SSLError) { fetch(authority, port, ca_file: nil) }
      strict = fetch(authority, port)
      named = fetch(authority, port, host: "localhost")
      client = fetch(authority, port, cert: authority.certificate("client"), key: authority.key("client"))
      assert_equal(4, connections([lax, strict, named, client]))
      assert_equal("CN=client", client.last)
      again = fetch(authority, port, cert: authority.certificate("client"), key: authority.key("client"))
      assert_equal(client, again, "equal certificates, not the same objects")
      assert_equal([lax, strict], [fetch(authority, port, **unverified), fetch(authority, port)])
    end
  end

  def test_a_wrong_name_is_refused_with_a_connection_to_the_right_one_at_hand
    with_tls do |authority, port|
      fetch(authority, port)
      http = Net::HTTP.new("wrong.example", port, nil)
      http.ipaddr = "127.0.0.1"
      http.use_ssl = true
      http.ca_file = authority.path("ca.pem")
      assert_raises(OpenSSL::SSL::SSLError) { http.get("/") }
    end
  end

  { "1.2" => "TLSv1.2", "1.3" => "TLSv1.3" }.each do |version, protocol|
    define_method(:"test_the_session_is_used_for_the_next_connection_with_tls_#{version.tr(".", "_")}") do
      with_tls(protocols: protocol) do |authority, port|
        first = fetch(authority, port)
        close_idle
        second = fetch(authority, port)
        refute_equal(first[0], second[0])
        assert_equal([".", "r"], [first[1], second[1]])
        other = fetch(authority, port, ca_file: nil, verify_mode: OpenSSL::SSL::VERIFY_NONE)
        assert_equal(".", other[1], "other settings, no session of these")
      end
    end
  end

  # The connections, not the TLS sessions.
  def close_idle = NetHTTP.pool.clear

  # It makes a store of certificates for each request.
  def test_open_uri
    with_tls do |authority, port|
      answers = Array.new(3) { URI("https://127.0.0.1:#{port}/").open(ssl_ca_cert: authority.path("ca.pem"), proxy: nil, &:read).split }
      assert_equal(1, connections(answers))
    end
  end

  def test_what_a_session_can_be_asked
    with_tls do |authority, port|
      2.times do
        Net::HTTP.start("127.0.0.1", port, nil, use_ssl: true, ca_file: authority.path("ca.pem")) do |http|
          assert_equal("/CN=server", http.peer_cert.subject.to_s)
          http.get("/")
        end
      end
    end
  end

  def test_a_fork_says_no_goodbye_on_its_parents_connection
    with_tls do |authority, port|
      first = fetch(authority, port)
      _, status = Process.wait2(fork { exit!(fetch(authority, port)[0] == first[0] ? 1 : 0) })
      assert(status.success?, "the child must have a connection of its own")
      assert_equal(first[0], fetch(authority, port)[0])
    end
  end

  # Forwards, or opens tunnels; notes the credentials.
  class Proxy < NetHTTPOrigin
    def initialize
      super
      @tunnels = []
    end

    private

    def answer(io, request)
      return tunnel(io, request) if request.verb == "CONNECT"

      body = "by proxy #{request.path} #{request.headers["proxy-authorization"]}"
      io.write(NetHTTPCases.answer(body))
    end

    def tunnel(io, request)
      TCPSocket.open(*request.path.split(":")) do |target|
        io.write("HTTP/1.1 200 OK\r\n\r\n")
        loop do
          IO.select([io, target]).first.each { |from| (from.equal?(io) ? target : io).write(from.readpartial(65_536)) }
        end
      end
    end
  end

  def with_proxy
    proxy = Proxy.new
    yield proxy
  ensure
    proxy&.close
  end

  def test_a_proxy
    with_proxy do |proxy|
      get = ->(host, *who) { Net::HTTP.new(host, 80, "127.0.0.1", proxy.port, *who).get("/x").body }
      assert_equal("by proxy http://a.example/x ", get.call("a.example"))
      assert_equal("by proxy http://a.example/x Basic bWU6c2VjcmV0", get.call("a.example", "me", "secret"))
      assert_equal(["by proxy http://a.example/x "] * 3, Array.new(3) { get.call("a.example") })
      assert_equal(2, proxy.connections)
      NetHTTP.clear
    end
  end

  def test_a_class_of_the_proxy_and_open_uri
    with_proxy do |proxy|
      2.times do
        url = URI("http://a.example/x")
        assert_equal("by proxy #{url} ", Net::HTTP.Proxy("127.0.0.1", proxy.port).get(url))
        assert_equal("by proxy #{url} ", url.open(proxy: "http://127.0.0.1:#{proxy.port}", &:read))
      end
      assert_equal(1, proxy.connections)
      NetHTTP.clear
    end
  end

  def test_a_tunnel
    with_tls do |authority, port|
      with_proxy do |proxy|
        seen = Array.new(4) do |n|
          http = Net::HTTP.new("127.0.0.1", port, "127.0.0.1", proxy.port, "user#{n / 2}", "secret")
          http.use_ssl = true
          http.ca_file = authority.path("ca.pem")
          http.get("/").body.split
        end
        assert_equal([2, 2], [connections(seen), proxy.connections], "the credentials are the tunnel's")
        NetHTTP.clear
      end
    end
  end
end
