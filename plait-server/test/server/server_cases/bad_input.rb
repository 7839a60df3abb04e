# frozen_string_literal: true

require "support/conformance/http1_requests"

module ServerCases
  # What is no request, or may be taken for two.
  module BadInput
    SMUGGLING = {
      "both lengths" => ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG", 400],
      "two lengths" => ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nContent-Length: 5\r\n\r\n12345G", 400],
      "chunked, chunked" => ["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400],
      "identity" => ["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501],
      "xchunked" => ["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501],
      "a space before the colon" => ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\n12345", 400],
      "a folded line" => ["GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n Transfer-Encoding: chunked\r\n\r\n", 400],
      "a bare LF" => ["GET / HTTP/1.1\nHost: a\n\n", 400],
      "a bare CR" => ["GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400],
      "NUL" => ["GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400],
      "two hosts" => ["GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400],
      "no host" => ["GET / HTTP/1.1\r\n\r\n", 400],
      "+5" => ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n12345", 400],
      "0x5" => ["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\n12345\r\n0\r\n\r\n", 400],
      "no CRLF behind a chunk" => ["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabX0\r\n\r\n", 400],
      "a preface of HTTP/2" => ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505],
      "TLS" => ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".b, 400]
    }.freeze

    def test_smuggling
      seen = Thread::Queue.new
      serve { |env| (seen << env) && [200, {}, []] }
      SMUGGLING.each do |name, (bytes, status)|
        caller = connect.send(bytes)
        answer = caller.hear
        assert_equal([status, "close"], [answer.status, answer.fields["connection"]], name)
        assert_closed(caller)
        assert_empty(seen, "#{name}: the app was asked")
      end
      assert_serves
    end

    # The second of two that came together is malformed: the first is answered, then the connection closed.
    def test_a_malformed_one_behind_a_good_one
      serve_text
      caller = connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n")
      assert_equal([200, 400], [caller.hear.status, caller.hear.status])
      assert_closed(caller)
    end

    def test_a_client_that_is_cut_at_every_byte
      serve_text
      bytes = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789"
      (0...bytes.size).each do |size|
        caller = connect.send(bytes[0, size])
        caller.socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii")) if size.odd? # a reset
        caller.close
      end
      assert_serves
      wait_until { count(:connections) <= 1 }
    end

    def test_limits
      serve_text(limits: { start_line: 100, head: 1_000, headers: 10, body: 50 })
      { "GET /#{"x" * 100} HTTP/1.1\r\nHost: a\r\n\r\n" => 414,
        "GET / HTTP/1.1\r\nHost: a\r\nX: #{"x" * 1_000}\r\n\r\n" => 431,
        "GET / HTTP/1.1\r\nHost: a\r\n#{"X: 1\r\n" * 10}\r\n" => 431,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 51\r\n\r\n" => 413,
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 51\r\n\r\n" => 413,
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n33\r\n" => 413 }.each do |bytes, status|
        assert_equal(status, connect.send(bytes).hear.status, bytes[0, 80])
      end
      assert_serves
    end

    # Nobody reads the rest of what was refused; the word of it must come through all the same.
    def test_a_refusal_is_heard_by_who_still_sends
      serve_text(limits: { body: 1_000 })
      caller = connect.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n#{"x" * 1_000_000}")
      assert_equal(413, caller.hear.status)
    end
  end
end
