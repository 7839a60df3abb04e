# frozen_string_literal: true

require "test_helper"
require "support/certificates"
require "support/io_cases"
require "plait/io/tls"

class IoTLSTest < Minitest::Test
  Io = Plait.const_get(:Io)
  include IoCases

  Endpoint = Io::Endpoint
  TLS = Io::TLS
  CA = Certificates::Authority.new
  LEAF = CA.issue("DNS:localhost", "DNS:*.example.test", "IP:127.0.0.1")
  ECHO = lambda do |stream|
    while stream.fill
      stream.write(stream.buffer.dup)
      stream.consume(stream.buffer.bytesize)
    end
  end

  %w[localhost 127.0.0.1].each do |host|
    everywhere("speaks TLS with #{host}") do
      serving_tls do |port|
        stream = stream_to(Endpoint.tls(host, port), connector, deadline: within(60), phases: (phases = Io::Connector::Phases.new))
        assert_predicate(stream, :tls?)
        stream.write("ping", deadline: within(60))
        assert_equal("ping", stream.read_exactly(4, deadline: within(60)))
        assert_equal("TLSv1.3", stream.io.ssl_version)
        assert_operator(phases.tls, :>, 0)
      ensure
        stream&.close
      end
    end
  end

  everywhere("large messages both ways") do |mechanism|
    big = Random.new(2).bytes(3_000_000)
    serving_tls do |port|
      stream = stream_to(Endpoint.tls("localhost", port), connector, deadline: within(60))
      writer = mechanism.beside { stream.write(big, "end", deadline: within(30)) }
      assert_equal(big.hash, stream.read_exactly(big.bytesize, deadline: within(30)).hash)
      assert_equal("end", stream.read_exactly(3, deadline: within(30)))
      writer.call
    ensure
      stream&.close
    end
  end

  # The tickets come with the first bytes. OpenSSL then calls back into Ruby, which may switch to the thread that writes.
  def test_one_thread_reads_while_another_writes
    big = Random.new(2).bytes(3_000_000)
    serving_tls do |port|
      connector = self.connector
      connector.tls.instance_variable_get(:@sessions).define_singleton_method(:store) { |*, **| sleep(0.005) }
      20.times { assert_equal(big.hash, read_while_writing(stream_to(Endpoint.tls("localhost", port), connector), big).hash) }
    end
  end

  def test_a_failed_handshake_closes_the_socket
    serving_tls(TLS::Server.new(**Certificates.self_signed("DNS:localhost").to_h)) do |port|
      socket = Socket.tcp("127.0.0.1", port)
      assert_raises(Plait::CertificateError) { connector.tls.handshake(socket, Endpoint.tls("localhost", port)) }
      assert_predicate(socket, :closed?)
    end
  end

  {
    expired: [CA.issue("DNS:localhost", from: -2 * Certificates::DAY, to: -Certificates::DAY), /expired on 20.*renew/],
    not_yet_valid: [CA.issue("DNS:localhost", from: Certificates::DAY, to: 2 * Certificates::DAY), /valid only from 20/],
    self_signed: [Certificates.self_signed("DNS:localhost"), /self-signed.*ca_file/],
    unknown_issuer: [Certificates::Authority.new("Other CA").issue("DNS:localhost"), /we trust has issued.*Other CA/],
    wrong_name: [CA.issue("DNS:other.test", "DNS:third.test"), /is for other\.test, third\.test, not for localhost/]
  }.each do |reason, (pair, message)|
    everywhere("refuses a certificate: #{reason}") do
      refused = nil
      assert_no_leaks do
        serving_tls(TLS::Server.new(**pair.to_h), failures: (failures = Queue.new)) do |port|
          error = assert_raises(Plait::CertificateError) { connector.connect(Endpoint.tls("localhost", port), deadline: within(60)) }
          assert_equal(reason, error.reason)
          assert_match(message, error.message)
          assert_equal("tls://localhost:#{port}", error.endpoint)
          refused = failures.pop
        end
      end
      assert_kind_of(Plait::TLSError, refused, "the server must not take the client for connected")
    end
  end

  def test_a_wrong_address_in_a_certificate
    serving_tls(TLS::Server.new(**CA.issue("DNS:localhost", "IP:10.0.0.1").to_h)) do |port|
      error = assert_raises(Plait::CertificateError) { connector.connect(Endpoint.tls("127.0.0.1", port), deadline: within(60)) }
      assert_equal(:wrong_name, error.reason)
      assert_match(/is for localhost, 10\.0\.0\.1, not for 127\.0\.0\.1/, error.message)
    end
  end

  def test_the_systems_certificates_are_the_default
    serving_tls do |port|
      connector = Io::Connector.new(tls: TLS::Client.new)
      error = assert_raises(Plait::CertificateError) { connector.connect(Endpoint.tls("localhost", port), deadline: within(60)) }
      assert_equal(:unknown_issuer, error.reason)
    end
  end

  def test_a_ca_file
    Dir.mktmpdir("plait-test-") do |folder|
      File.write(file = "#{folder}/ca.pem", CA.pair.certificate.to_pem)
      serving_tls { |port| connector(ca_file: file).connect(Endpoint.tls("localhost", port), deadline: within(60)).close }
      error = assert_raises(Plait::UsageError) { TLS::Client.new(ca_file: "#{folder}/none.pem") }
      assert_match(/none\.pem/, error.message)
    end
  end

  def test_without_verification
    serving_tls(TLS::Server.new(**Certificates.self_signed("DNS:x").to_h)) do |port|
      connector(verify: false).connect(Endpoint.tls("localhost", port), deadline: within(60)).close
    end
  end

  everywhere("a handshake that is never answered ends at the deadline") do
    assert_no_leaks do
      serving(lambda(&:read)) do |port|
        error = assert_raises(Plait::ConnectTimeout) { connector.connect(Endpoint.tls("localhost", port), deadline: within(0.1)) }
        assert_equal(:tls, error.phase)
        assert_match(%r{tls://localhost:#{port}}, error.message)
      end
    end
  end

  def test_a_server_that_speaks_something_else
    serving(->(socket) { socket.write("HTTP/1.1 400 Bad Request\r\n\r\n") && socket.readpartial(1000) }) do |port|
      error = assert_raises(Plait::TLSError) { connector.connect(Endpoint.tls("localhost", port), deadline: within(60)) }
      assert_match(/does it speak TLS on this port/, error.message)
      assert_predicate(error, :retry_safe?)
    end
  end

  def test_a_server_that_hangs_up
    serving(->(_socket) {}) do |port|
      assert_raises(Plait::TLSError) { connector.connect(Endpoint.tls("localhost", port), deadline: within(60)) }
    end
  end

  def test_a_version_that_is_too_old
    context = OpenSSL::SSL::SSLContext.new
    context.security_level = 0
    context.max_version = :TLS1_1
    context.min_version = :TLS1
    context.add_certificate(LEAF.certificate, LEAF.key)
    serving(->(socket) { OpenSSL::SSL::SSLSocket.new(socket, context).accept rescue nil }) do |port| # rubocop:disable Style/RescueModifier
      error = assert_raises(Plait::TLSError) { connector.connect(Endpoint.tls("localhost", port), deadline: within(60)) }
      refute_kind_of(Plait::CertificateError, error)
    end
  end

  def test_alpn
    serving_tls(TLS::Server.new(**LEAF.to_h, alpn: %w[h2 http/1.1])) do |port|
      endpoint = Endpoint.tls("localhost", port)
      { %w[http/1.1 h2] => "h2", %w[http/1.1] => "http/1.1", nil => nil }.each do |offered, chosen|
        socket = connector(alpn: offered).connect(endpoint, deadline: within(60))
        chosen ? assert_equal(chosen, socket.alpn_protocol) : assert_nil(socket.alpn_protocol)
        socket.close
      end
      assert_raises(Plait::TLSError) { connector(alpn: %w[spdy]).connect(endpoint, deadline: within(60)) }
      connector.connect(endpoint, deadline: within(60)).close # it goes on serving
    end
  end

  def test_certificates_by_name
    hosts = { "a.test" => CA.issue("DNS:a.test").to_h, "*.b.test" => CA.issue("DNS:*.b.test").to_h }
    serving_tls(TLS::Server.new(**LEAF.to_h, hosts: hosts)) do |port|
      { "a.test" => "DNS:a.test", "x.B.test" => "DNS:*.b.test", "localhost" => "DNS:localhost" }.each do |name, expected|
        socket = connector(hostname: name).connect(Endpoint.tls("127.0.0.1", port), deadline: within(60))
        assert_match(/\A#{Regexp.escape(expected)}/, socket.peer_cert.find_extension("subjectAltName").value)
        socket.close
      end
    end
  end

  def test_client_certificates
    with_ca_file do |file|
      server = TLS::Server.new(**LEAF.to_h, client_ca: file, verify_client: :required)
      serving_tls(server, failures: (failures = Queue.new)) do |port|
        endpoint = Endpoint.tls("localhost", port)
        assert_equal("pong", ping(stream_to(endpoint, connector(**CA.issue("DNS:me").to_h), deadline: within(60)), "pong"))
        [{}, Certificates.self_signed("DNS:me").to_h].each do |identity|
          error = assert_raises(Plait::ConnectionError) { ping(stream_to(endpoint, connector(**identity), deadline: within(60))) }
          assert_match(/certificate|alert|reset/i, error.message)
          assert_kind_of(Plait::TLSError, failures.pop)
        end
      end
    end
  end

  def test_a_key_that_is_not_the_certificates
    error = assert_raises(Plait::UsageError) { TLS::Server.new(certificate: LEAF.certificate, key: CA.pair.key) }
    assert_match(/not the one of the certificate of.*leaf/, error.message)
    assert_raises(Plait::UsageError) { TLS::Server.new(certificate: "/none.pem", key: LEAF.key) }
    assert_raises(Plait::UsageError) { TLS::Server.new(certificate: LEAF.certificate, key: "-----BEGIN nonsense") }
    assert_raises(Plait::UsageError) { TLS::Server.new(**LEAF.to_h, verify_client: :required) }
  end

  def test_options_that_mean_nothing
    { verify: nil, alpn: "h2", min_version: :TLS9, ciphers: "NONE-SUCH", certificate: 5 }.each do |name, value|
      error = assert_raises(Plait::UsageError, name) { TLS::Client.new(**{ name => value }) }
      assert_match(/#{name}: /, error.message)
    end
  end

  def test_pem_in_files_and_strings
    Dir.mktmpdir("plait-test-") do |folder|
      File.write("#{folder}/all.pem", LEAF.certificate.to_pem + CA.pair.certificate.to_pem)
      server = TLS::Server.new(certificate: "#{folder}/all.pem", key: LEAF.key.to_pem)
      serving_tls(server) do |port|
        socket = connector.connect(Endpoint.tls("localhost", port), deadline: within(60))
        assert_equal(2, socket.peer_cert_chain.size)
        socket.close
      end
    end
  end

  %w[TLSv1.2 TLSv1.3].each do |version|
    define_method("test_sessions_are_used_again_under_#{version}") do
      serving_tls(server_up_to(version)) do |port|
        connector = self.connector
        reused = Array.new(5) { resumed?(connector, Endpoint.tls("localhost", port), version) }
        assert_equal([false, true, true, true, true], reused)
        assert_equal(1, connector.tls.instance_variable_get(:@sessions).instance_variable_get(:@kept).size)
        refute(resumed?(connector, Endpoint.tls("127.0.0.1", port), version), "a session belongs to one name")
        refute(resumed?(connector(sessions: 0), Endpoint.tls("localhost", port), version))
      end
    end
  end

  def test_a_session_does_not_replace_the_check_of_the_name
    serving_tls do |port|
      endpoint = Endpoint.tls("localhost", port)
      shared = TLS::Client.new(cert_store: CA.store)
      connector = Io::Connector.new(tls: shared)
      2.times { ping(stream_to(endpoint, connector, deadline: within(60))) }
      shared.instance_variable_set(:@hostname, "other.test")
      stolen = shared.instance_variable_get(:@sessions).take("localhost #{endpoint}")
      shared.instance_variable_get(:@sessions).store("other.test #{endpoint}", stolen, once: true)
      error = assert_raises(Plait::CertificateError) { connector.connect(endpoint, deadline: within(60)) }
      assert_equal(:wrong_name, error.reason)
    end
  end

  def test_the_session_cache_is_bounded
    sessions = TLS.const_get(:Sessions).new(2)
    3.times { |n| sessions.store("k#{n}", n, once: true) }
    assert_equal(2, sessions.instance_variable_get(:@kept).size)
    assert_nil(sessions.take("k0"))
    assert_equal(2, sessions.take("k2"))
    assert_nil(sessions.take("k2"), "a ticket serves once")
    100.times { |n| sessions.store("k", n, once: true) }
    assert_equal([99, *92..98].sort, Array.new(8) { sessions.take("k") }.sort)
    sessions.store("old", 1, once: false)
    assert_equal([1, 1], [sessions.take("old"), sessions.take("old")])
  end

  def test_many_threads_share_a_client
    serving_tls do |port|
      connector = self.connector
      endpoint = Endpoint.tls("localhost", port)
      threads = Array.new(8) do |n|
        Thread.new { Array.new(10) { |m| ping(stream_to(endpoint, connector, deadline: within(30)), "#{n} #{m}") } }
      end
      assert_equal(Array.new(8) { |n| Array.new(10) { |m| "#{n} #{m}" } }, threads.map(&:value))
    end
  end

  everywhere("stale is not fooled by session tickets") do
    serving_tls do |port|
      stream = stream_to(Endpoint.tls("localhost", port), connector, deadline: within(60))
      stream.io.to_io.wait_readable(10) # the tickets
      refute_predicate(stream, :stale?)
      assert_equal("ping", ping(stream, close: false))
      refute_predicate(stream, :stale?)
    ensure
      stream&.close
    end
  end

  everywhere("stale when the peer has closed or sent what nobody asked for") do
    [lambda(&:close), ->(stream) { stream.write("unasked") && sleep }].each do |rude|
      serving_tls(handler: rude) do |port|
        stream = stream_to(Endpoint.tls("localhost", port), connector, deadline: within(60))
        wait_until { stream.stale? }
      ensure
        stream&.close
      end
    end
  end

  everywhere("an end without close_notify is a truncation") do
    cut = ->(stream) { stream.write("part") && stream.io.to_io.close }
    serving_tls(handler: cut) do |port|
      stream = stream_to(Endpoint.tls("localhost", port), connector, deadline: within(60))
      assert_equal("part", stream.read_exactly(4, deadline: within(60)))
      assert_raises(Plait::ConnectionClosed) { stream.fill(deadline: within(60)) }
    ensure
      stream&.close
    end
    serving_tls(handler: ->(stream) { stream.write("all") && stream.close }) do |port|
      stream = stream_to(Endpoint.tls("localhost", port), connector, deadline: within(60))
      assert_equal("all", stream.read_exactly(3, deadline: within(60)))
      assert_nil(stream.fill(deadline: within(60)))
    ensure
      stream&.close
    end
  end

  def test_the_child_of_a_fork_says_no_goodbye
    skip("no fork here") unless Process.respond_to?(:fork)
    serving_tls do |port|
      stream = stream_to(Endpoint.tls("localhost", port), connector, deadline: within(60))
      Process.wait(fork { stream.close && exit!(0) })
      assert_equal("ping", ping(stream))
    end
  end

  def test_closing_says_goodbye
    ended = Queue.new
    serving_tls(handler: ->(stream) { ended << stream.fill }) do |port|
      stream_to(Endpoint.tls("localhost", port), connector, deadline: within(60)).close
      assert_nil(ended.pop)
    end
  end

  def test_with_openssl_s_server
    skip("openssl is not there") unless system("openssl version", out: File::NULL, err: File::NULL)
    with_s_server do |port|
      stream = stream_to(Endpoint.tls("localhost", port), connector, deadline: within(60))
      stream.write("GET / HTTP/1.0\r\n\r\n", deadline: within(60))
      assert_equal("HTTP/1.0 200 ok\r\n", stream.read_exactly(17, deadline: within(60)))
    ensure
      stream&.close
    end
  end

  private

  def connector(**options)
    store = options[:ca_file] ? nil : CA.store
    Io::Connector.new(tls: TLS::Client.new(cert_store: store, **options), resolver: FixedResolver.new("127.0.0.1"))
  end

  def serving_tls(server = TLS::Server.new(**LEAF.to_h), handler: ECHO, failures: Queue.new, &block)
    answer = lambda do |socket|
      stream = Io::Stream.new(server.handshake(socket, deadline: within(30)))
      handler.call(stream)
    rescue Plait::Error => e
      failures << e
    ensure
      stream&.close
    end
    serving(answer, &block)
  end

  def read_while_writing(stream, bytes)
    writer = Thread.new { stream.write(bytes, deadline: within(30)) }
    stream.read_exactly(bytes.bytesize, deadline: within(30)).tap { writer.join }
  ensure
    stream.close
  end

  def ping(stream, message = "ping", close: true)
    stream.write(message, deadline: within(60))
    stream.read_exactly(message.bytesize, deadline: within(60))
  ensure
    stream.close if close
  end

  def resumed?(connector, endpoint, version)
    stream = stream_to(endpoint, connector, deadline: within(60))
    ping(stream, close: false)
    assert_equal(version, stream.io.ssl_version)
    stream.io.session_reused?
  ensure
    stream&.close
  end

  def server_up_to(version)
    TLS::Server.new(**LEAF.to_h).tap do |server|
      context = OpenSSL::SSL::SSLContext.new
      context.add_certificate(LEAF.certificate, LEAF.key)
      context.max_version = OpenSSL::SSL.const_get(version.sub("v", "").sub(".", "_").concat("_VERSION"))
      server.instance_variable_set(:@context, context)
    end
  end

  def with_ca_file
    Dir.mktmpdir("plait-test-") do |folder|
      File.write("#{folder}/ca.pem", CA.pair.certificate.to_pem)
      yield("#{folder}/ca.pem")
    end
  end

  def with_s_server
    Dir.mktmpdir("plait-test-") do |folder|
      File.write("#{folder}/leaf.pem", LEAF.certificate.to_pem + LEAF.key.private_to_pem)
      port = Support::Server.free_port
      pid = spawn("openssl", "s_server", "-accept", "127.0.0.1:#{port}", "-cert", "#{folder}/leaf.pem", "-www", "-quiet",
                  in: File::NULL, out: File::NULL, err: File::NULL)
      wait_until { TCPSocket.new("127.0.0.1", port).close || true rescue false } # rubocop:disable Style/RescueModifier
      yield(port)
    ensure
      Process.kill(:TERM, pid) && Process.wait(pid) if pid
    end
  end
end
