# frozen_string_literal: true

require "openssl"
require "tempfile"
require "plait/io/tls"
require "support/certificates"

module ServerCases
  # Over TLS.
  module TLS
    def serve_tls(**options, &app)
      authority = Certificates::Authority.new
      tls = Plait.const_get(:Io)::TLS::Server.new(**authority.issue("DNS:localhost", "IP:127.0.0.1").to_h)
      @context = OpenSSL::SSL::SSLContext.new.tap { |context| context.cert_store = authority.store }
      @context.verify_mode = OpenSSL::SSL::VERIFY_PEER
      serve(at: "ssl://127.0.0.1:0", tls: tls, **options, &app)
    end

    def connect_tls
      secure = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", @endpoint.port), @context)
      secure.sync_close = true
      Caller.new(secure.connect).tap { |caller| @callers << caller }
    end

    def test_requests_over_tls
      body = "x" * 1_000_000
      serve_tls { |env| [200, {}, env.values_at("rack.url_scheme", "SERVER_PORT", "REMOTE_ADDR") << env["rack.input"].read] }
      callers = Array.new(3) { connect_tls }
      2.times { callers.each { |caller| assert_equal("https443127.0.0.1", caller.get.body) } }
      caller = callers.first.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: #{body.size}\r\n\r\n#{body}")
      assert_equal("https443127.0.0.1#{body}", caller.hear.body)
    end

    def test_who_does_not_speak_tls_is_gone
      serve_tls { [200, {}, []] }
      assert_includes([0, 7], connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").rest.bytesize, "nothing, or an alert")
      assert_equal(200, connect_tls.get.status)
    end

    def test_those_who_say_nothing_do_not_keep_others_out
      serve_tls(handshake_timeout: 300) { [200, {}, ["x"]] }
      Array.new(66) { connect.send("\x16") }
      assert_equal("x", connect_tls.get.body)
    end

    def test_a_large_answer_over_tls
      body = Random.new(4).bytes(8_000_000)
      serve_tls { [200, {}, [body]] }
      2.times { assert_equal(body, connect_tls.get.body) }
    end

    def test_each_byte_is_a_record_of_its_own
      serve_tls { |env| [200, {}, [env["PATH_INFO"], env["rack.input"].read]] }
      caller = connect_tls
      request = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: a\r\n\r\n"
      request.each_char { |byte| caller.send(byte) }
      assert_equal(%w[/aabc /b], Array.new(2) { caller.hear.body })
    end

    # Longer than the core reads at once: a part of a record stays inside libssl, and the kernel reports only what comes later.
    def test_an_upload_in_small_records
      serve_tls { |env| [200, {}, [env["rack.input"].read]] }
      body = Random.new(8).bytes(1_500_000)
      threads = [100, 1_000, 4_000].map do |size|
        Thread.new do
          caller = connect_tls.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: #{body.bytesize}\r\n\r\n")
          body.scan(/.{1,#{size}}/mn) { |piece| caller.send(piece) }
          caller.hear.body
        end
      end
      threads.each { |thread| assert_equal(body, thread.value) }
    end

    def test_requests_that_follow_in_one_record
      serve_tls { |env| [200, {}, [env["PATH_INFO"]]] }
      caller = connect_tls.send((1..200).map { |number| "GET /#{number} HTTP/1.1\r\nHost: a\r\n\r\n" }.join)
      assert_equal((1..200).map { |number| "/#{number}" }, Array.new(200) { caller.hear.body })
    end

    def test_an_older_tls
      serve_tls { [200, {}, ["x"]] }
      @context.max_version = :TLS1_2
      caller = connect_tls
      2.times { assert_equal("x", caller.get.body) }
    end

    # The peer takes little at once: what is left of a record is sent again from other memory.
    def test_answers_that_are_taken_slowly_over_tls
      bytes = Random.new(5).bytes(6_000_000)
      Tempfile.create do |file|
        file.write(bytes)
        file.flush
        named = Struct.new(:to_path) { def each = yield("not this") }
        bodies = { "/parts" => bytes.scan(/.{1,1000}/mn), "/file" => named.new(file.path), "/whole" => [bytes],
                   "/pieces" => Streams::Pieces.new(*bytes.scan(/.{1,30000}/mn)) }
        serve_tls(lint: false) { |env| [200, { "content-length" => bytes.bytesize.to_s }, bodies.fetch(env["PATH_INFO"])] }
        bodies.each_key do |path|
          caller = connect_tls.send("GET #{path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
          received = "".b
          received << caller.raw.tap { sleep(0.0005) } until received.end_with?(bytes[-1000..])
          assert_equal(bytes, received.split("\r\n\r\n", 2).last, path)
        end
      end
    end

    def test_the_collector_leaves_connections_over_tls_alone
      serve_tls { [200, {}, ["x"]] }
      callers = Array.new(20) { connect_tls }
      3.times do
        GC.start
        GC.compact if GC.respond_to?(:compact)
        callers.each { |caller| assert_equal("x", caller.get.body) }
      end
    end

    # Without a goodbye a client has to think that somebody has cut the connection; behind what was cut there is none.
    def test_the_goodbye
      serve_tls(idle_timeout: 6, lint: false) do |env|
        [200, {}, env["PATH_INFO"] == "/cut" ? Streams::Pieces.new("half") { raise "on purpose" } : Streams::Pieces.new("whole")]
      end
      ["GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"]
        .each { |bytes| assert_includes(connect_tls.send(bytes).rest, "whole") }
      ["GET /cut HTTP/1.0\r\n\r\n", "GET /cut HTTP/1.1\r\nHost: a\r\n\r\n"].each do |bytes|
        caller = connect_tls.send(bytes)
        error = assert_raises(OpenSSL::SSL::SSLError, Errno::ECONNRESET) { loop { caller.raw } }
        assert_match(/unexpected eof|reset by peer/, error.message)
      end
    end

    # The core is done with it before the peer has taken it all.
    def test_what_was_said_arrives_though_the_server_ends
      body = "x" * 30_000_000
      serve_tls { [200, {}, [body]] }
      caller = connect_tls.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      received = caller.raw.bytesize
      received += caller.raw(1 << 18).bytesize until sleep(0.005) && count(:connections).zero?
      @server.stop(within: 20)
      @thread.join(0.3)
      assert_operator(received + caller.rest.bytesize, :>, body.bytesize)
    end

    def test_who_leaves_in_the_middle_of_a_handshake
      assert_no_leaks do
        serve_tls { [200, {}, ["x"]] }
        5.times { connect.send("\x16\x03\x01") }
        connect_tls.get
        @callers.each(&:close)
        5.times { connect.send("\x16\x03\x01") } # in the middle of theirs when the server ends
        @server.stop(within: 0)
        assert(@thread.join(20))
        @callers.each(&:close)
      end
    end

    def test_nothing_of_tls_is_left_behind
      assert_no_leaks do
        serve_tls { [200, {}, ["x"]] }
        connect_tls.get
        connect_tls.get("/", "Connection: close")
        @callers.each(&:close)
        @server.stop(within: 1)
        assert(@thread.join(20))
      end
    end
  end
end
