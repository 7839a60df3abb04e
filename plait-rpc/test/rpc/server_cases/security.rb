# frozen_string_literal: true

require "msgpack"
require "plait/io/tls"
require "support/certificates"
require_relative "../records"

module ServerCases
  # Who may call, and what others see of it.
  module Security
    AUTHORITY = Certificates::Authority.new
    OURS = AUTHORITY.issue("IP:127.0.0.1").to_h
    THEIRS = AUTHORITY.issue("DNS:client").to_h
    STRANGERS = Certificates::Authority.new("somebody else").issue("DNS:client").to_h

    def test_a_secret
      serve(secret: "sesame")
      talker = connect
      assert_match(/\APermissionError: show the secret first/, call(talker, "add", 1, 2).first)
      assert_match(/\APermissionError: that is not/, call(talker, "rpc.authenticate", "sesam").first)
      assert_equal([nil, true], call(talker, "rpc.authenticate", "sesame"))
      assert_serves(talker)
      assert_match(/\APermissionError/, call(connect, "rpc.ping").first)
    end

    def test_wrong_secrets
      serve(secret: "sesame")
      talker = connect
      ["", 5, nil].each { |secret| talker.request(1, "rpc.authenticate", secret) }
      assert_closed(talker)
      assert_equal(["PermissionError: that is not the secret", nil], call(connect, "rpc.authenticate", "a", "sesame"))
    end

    def test_a_client_shows_the_secret
      serve(secret: "sesame")
      assert_equal(3, client(secret: "sesame") { |client| client.call(:add, 1, 2) })
      error = assert_raises(Plait::RemoteError) { client(secret: "open") { |client| client.call(:add, 1, 2) } }
      assert_match(/that is not the secret/, error.message)
      error = assert_raises(Plait::RemoteError) { client { |client| client.call(:add, 1, 2) } }
      assert_match(/show the secret first/, error.message)
      assert_equal(1, count(:done))
    end

    def test_tls
      secure
      data = Random.new(1).bytes(3_000_000)
      client(tls: trusting) do |client|
        assert_equal(data, client.call(:echo, data))
        assert_equal([*0...200], client.map(:echo, 0...200))
        assert_equal([3], Array.new(8) { Thread.new { client.call(:add, 1, 2) } }.map(&:value).uniq)
      end
    end

    # No event of the socket tells of the end: libssl has it.
    def test_a_request_whose_end_was_read_ahead
      secure
      [8, 12].each do |count|
        talker = secure_talker
        payload = Records.send(talker.socket, count) { |text| [0, 3, "echo", [text]] }
        assert(talker.hears?(60), "no answer came to a request in #{count} full records")
        assert_equal([1, 3, nil, payload], talker.hear)
      end
    end

    def test_the_goodbye_comes_with_a_request
      secure
      talker = secure_talker
      talker.socket.write_nonblock([0, 3, "add", [1, 2]].to_msgpack)
      talker.socket.send(:stop) # sends the goodbye, and leaves the connection open
      assert_closed(Talker.new(talker.socket.to_io))
    end

    # What has come with the last bytes of the handshake is not waited for.
    def test_a_request_right_after_the_handshake
      secure
      20.times do
        client(tls: trusting) { |client| assert_equal(3, client.call(:add, 1, 2)) }
      end
    end

    def test_a_certificate_that_is_not_trusted
      secure
      error = assert_raises(Plait::CertificateError) { client { |client| client.call(:add, 1, 2) } }
      assert_equal(:unknown_issuer, error.reason)
      client(tls: trusting) { |client| assert_equal(3, client.call(:add, 1, 2)) }
    end

    def test_who_does_not_speak_tls_is_let_go
      secure(handshake_timeout: 5)
      ["GET / HTTP/1.1\r\n\r\n", [0, 1, "add", [1, 2]].to_msgpack].each do |bytes|
        talker = connect
        talker.socket.write(bytes)
        assert_closed(talker)
      end
      client(tls: trusting) { |client| assert_equal(3, client.call(:add, 1, 2)) }
    end

    # Nor do others wait for him.
    def test_who_begins_a_handshake_and_says_no_more_is_let_go
      secure(handshake_timeout: 5)
      silent = Array.new(3) { connect }
      client(tls: trusting) { |client| assert_equal(3, client.call(:add, 1, 2)) }
      silent.each { |talker| assert_closed(talker) }
    end

    def test_certificates_of_clients
      secure(verify_client: :required)
      client(tls: trusting.merge(THEIRS)) { |client| assert_equal(3, client.call(:add, 1, 2)) }
      [{}, STRANGERS].each do |identity|
        client(tls: trusting.merge(identity), reconnect: 0) do |client|
          assert_raises(Plait::ConnectionClosed, Plait::TLSError) { client.call(:add, 1, 2) }
        end
      end
      assert_equal(1, count(:requests))
    end

    private

    # Starts a server that speaks TLS.
    def secure(verify_client: nil, **options)
      skip("JRuby's OpenSSL knows too little") if RUBY_ENGINE == "jruby"

      serve(at: "tls://127.0.0.1:0", tls: { **OURS, verify_client: verify_client, client_ca: authority }, **options)
    end

    # @return [Talker] whose connection has served a request
    def secure_talker
      socket = OpenSSL::SSL::SSLSocket.new(connect.socket, OpenSSL::SSL::SSLContext.new)
      Talker.new(socket.connect).tap { |talker| assert_serves(talker) }
    end

    # @return [String] the file of the authority's certificate
    def authority
      @authority ||= Tempfile.create.tap { |file| file.write(AUTHORITY.pair.certificate.to_pem) && file.close }.path
    end

    def trusting = { cert_store: AUTHORITY.store }

    def client(**options, &block) = RPC::Client.open(@endpoint, timeout: 60, **options, &block)
  end
end
