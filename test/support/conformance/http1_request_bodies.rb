# frozen_string_literal: true

require_relative "http1_samples"

module Conformance
  # The bodies of requests, what becomes of the connection, and limits (RFC 9112 §6 to §9).
  HTTP1_REQUEST_BODIES = HTTP1Samples.table do # rubocop:disable Metrics/BlockLength -- a table
    # ---- bodies: RFC 9112 §6.3
    good "a body by length", post("Content-Length: 5", body: "hello"), framing: :length, length: 5, body: "hello"
    good "a length of 0", post("Content-Length: 0"), framing: :length, body: ""
    good "no length", post, framing: :none, body: ""
    good "no length, and the next request", post + ask("Host: b"), framing: :none, rest: ask("Host: b")
    good "GET with a body", ask("Host: a", "Content-Length: 2", body: "hi"), framing: :length, body: "hi"
    good "a chunked body", post("Transfer-Encoding: chunked", body: "2\r\nhi\r\n0\r\n\r\n"), framing: :chunked, body: "hi"
    good "a chunked body and the next request", post("Transfer-Encoding: chunked", body: "0\r\n\r\nGET"), body: "", rest: "GET"
    good "a chunked body with trailers", post("Transfer-Encoding: chunked", body: "0\r\nA: b\r\n\r\n"), trailers: [%w[A b]]
    good "a length in HTTP/1.0", ask("Content-Length: 2", line: "POST / HTTP/1.0", body: "hi"), body: "hi", persistent: false
    good "the same length twice", post("Content-Length: 2", "Content-Length: 2", body: "hi"), body: "hi"
    bad "different lengths", post("Content-Length: 2", "Content-Length: <!>3", body: "hi"), :content_length_conflict
    bad "a length with a plus", post("Content-Length: <!>+2", body: "hi"), :content_length
    bad "a length in hexadecimal", post("Content-Length: 0<!>xa", body: "hi"), :content_length
    bad "a length with a vertical tab", post("Content-Length: <!>\v2", body: "hi"), :control
    bad "a length over 2^63", post("Content-Length: <!>9223372036854775808"), :content_length_overflow
    bad "smuggling by length and chunked", post("Content-Length: 6", "<!>Transfer-Encoding: chunked", body: "0\r\n\r\nG"),
        :two_lengths
    bad "smuggling by chunked and length", post("Transfer-Encoding: chunked", "<!>Content-Length: 6", body: "0\r\n\r\nG"),
        :two_lengths
    bad "smuggling by a space before the colon", post("Transfer-Encoding<!> : chunked", body: "0\r\n\r\n"), :space_in_name
    bad "smuggling by a fold", post("Transfer-Encoding:<!>", " chunked", body: "0\r\n\r\n"), :transfer_coding
    bad "smuggling by a fold before a field", post("A: b", "<!> Transfer-Encoding: chunked", body: "0\r\n\r\n"), :obs_fold
    bad "smuggling by a vertical tab", post("Transfer-Encoding: <!>\vchunked", body: "0\r\n\r\n"), :control
    bad "smuggling by xchunked", post("Transfer-Encoding: <!>xchunked", body: "0\r\n\r\n"), :transfer_coding
    bad "smuggling by chunked and identity", post("Transfer-Encoding: chunked, <!>identity"), :chunked_not_last
    bad "smuggling by identity and chunked", post("Transfer-Encoding: <!>identity, chunked"), :transfer_coding
    bad "smuggling by two codings in two fields", post("Transfer-Encoding: chunked", "Transfer-Encoding: <!>x"),
        :chunked_not_last
    bad "smuggling by bare CR", post("A: b<!>\rTransfer-Encoding: chunked", body: "0\r\n\r\n"), :bare_cr
    bad "smuggling by bare LF", post("A: b<!>\nTransfer-Encoding: chunked", body: "0\r\n\r\n"), :bare_lf
    bad "smuggling by NUL", post("Content-Length: 0<!>\0", body: "hi"), :control
    bad "smuggling by a quoted coding", post("Transfer-Encoding: <!>\"chunked\"", body: "0\r\n\r\n"), :transfer_coding
    bad "smuggling by a chunk size", post("Transfer-Encoding: chunked", body: "0<!>x2\r\nhi\r\n0\r\n\r\n"), :chunk_size
    bad "smuggling by LF in an extension", post("Transfer-Encoding: chunked", body: "2;<!>\nhi\r\n0\r\n\r\n"), :bare_lf
    bad "smuggling by a chunk's end", post("Transfer-Encoding: chunked", body: "2\r\nhi<!>XX0\r\n\r\n"), :chunk_end, body: "hi"
    bad "chunked in HTTP/1.0", ask("<!>Transfer-Encoding: chunked", line: "POST / HTTP/1.0"), :old_transfer_encoding
    bad "an end in a body", post("Content-Length: 5", body: "hel<!>"), :truncated_length, eof: true, body: "hel"
    bad "an end in a chunk", post("Transfer-Encoding: chunked", body: "5\r\nhel<!>"), :truncated_chunked, eof: true
    bad "an end in a head", "GET / HTTP/1.1\r\nHo<!>", :truncated_head, eof: true
    good "closed between requests", "", eof: true, ends: :closed
    good "closed after an empty line", "\r\n", eof: true, ends: :closed, rest: "\r\n"
    bad "closed in an empty line", "\r<!>", :truncated_head, eof: true

    # ---- lengths: RFC 9112 §6, RFC 9110 §8.6
    good "a length with zeros first", post("Content-Length: 0002", body: "hi"), length: 2, body: "hi"
    good "a length between white space", post("Content-Length: \t2 \t", body: "hi"), length: 2, body: "hi"
    good "a body that looks like a request", post("Content-Length: 18", body: "GET / HTTP/1.1\r\n\r\n"),
         body: "GET / HTTP/1.1\r\n\r\n"
    good "two requests with bodies", post("Content-Length: 1", body: "a") + post("Content-Length: 1", body: "b"),
         body: "a", rest: post("Content-Length: 1", body: "b")
    bad "an empty length", post("Content-Length: <!>"), :content_length
    bad "a negative length", post("Content-Length: <!>-2", body: "hi"), :content_length
    bad "a length with a point", post("Content-Length: 2<!>.0", body: "hi"), :content_length
    bad "a length with an exponent", post("Content-Length: 1<!>e1", body: "hi"), :content_length
    bad "a length with an underscore", post("Content-Length: 1<!>_0", body: "hi"), :content_length
    bad "a length with a space in it", post("Content-Length: 1<!> 0", body: "hi"), :content_length
    bad "a length in quotes", post("Content-Length: <!>\"2\"", body: "hi"), :content_length
    bad "a length and a word", post("Content-Length: 2<!>x", body: "hi"), :content_length
    bad "a length of obs-text", post("Content-Length: <!>\xB2", body: "hi"), :content_length
    bad "a list of different lengths", post("Content-Length: 2, <!>3", body: "hi"), :content_length_conflict
    bad "a length of 40 digits", post("Content-Length: <!>#{"9" * 40}"), :content_length_overflow
    bad "a length over 2^64", post("Content-Length: <!>18446744073709551618", body: "hi"), :content_length_overflow
    bad "three lengths, the last another", post("Content-Length: 2", "Content-Length: 2", "Content-Length: <!>1", body: "hi"),
        :content_length_conflict
    bad "a length and zeros first", post("Content-Length: 2", "<!>Transfer-Encoding: chunked", "Content-Length: 2"), :two_lengths

    # ---- codings: RFC 9112 §6.1
    good "chunked in capitals", post("Transfer-Encoding: CHUNKED", body: "0\r\n\r\n"), framing: :chunked, body: ""
    good "chunked between white space", post("Transfer-Encoding: \tchunked\t ", body: "0\r\n\r\n"), framing: :chunked, body: ""
    bad "chunked twice", post("Transfer-Encoding: chunked, <!>chunked", body: "0\r\n\r\n"), :chunked_twice
    bad "chunked in two fields", post("Transfer-Encoding: chunked", "Transfer-Encoding: <!>chunked", body: "0\r\n\r\n"),
        :chunked_twice
    bad "gzip alone", post("Transfer-Encoding: <!>gzip"), :transfer_coding
    bad "gzip and chunked", post("Transfer-Encoding: <!>gzip, chunked", body: "0\r\n\r\n"), :transfer_coding
    bad "chunked with a parameter", post("Transfer-Encoding: <!>chunked;a=b", body: "0\r\n\r\n"), :transfer_coding
    bad "chunked and NUL", post("Transfer-Encoding: chunked<!>\0", body: "0\r\n\r\n"), :control
    bad "chunked and obs-text", post("Transfer-Encoding: <!>chunked\xA0", body: "0\r\n\r\n"), :transfer_coding
    bad "chunked with a dash", post("Transfer-Encoding: <!>-chunked", body: "0\r\n\r\n"), :transfer_coding
    bad "two words", post("Transfer-Encoding: <!>chunked chunked", body: "0\r\n\r\n"), :transfer_coding

    # ---- chunks: RFC 9112 §7.1
    good "chunk sizes in both cases", post("Transfer-Encoding: chunked", body: "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n"),
         body: "01234567890123456789"
    good "a chunk size with zeros first", post("Transfer-Encoding: chunked", body: "0002\r\nhi\r\n000\r\n\r\n"), body: "hi"
    good "a chunk extension", post("Transfer-Encoding: chunked", body: "2;a=b\r\nhi\r\n0;c\r\n\r\n"), body: "hi"
    good "a chunk extension in quotes", post("Transfer-Encoding: chunked", body: "2;a=\"b;c\"\r\nhi\r\n0\r\n\r\n"), body: "hi"
    good "a chunk that looks like an end", post("Transfer-Encoding: chunked", body: "5\r\n0\r\n\r\n\r\n0\r\n\r\n"),
         body: "0\r\n\r\n"
    good "two trailers", post("Transfer-Encoding: chunked", body: "0\r\nA: b\r\nC: d\r\n\r\n"), trailers: [%w[A b], %w[C d]]
    bad "an empty chunk size", post("Transfer-Encoding: chunked", body: "<!>\r\nhi\r\n0\r\n\r\n"), :chunk_size
    bad "a negative chunk size", post("Transfer-Encoding: chunked", body: "<!>-2\r\nhi\r\n0\r\n\r\n"), :chunk_size
    bad "a chunk size with a plus", post("Transfer-Encoding: chunked", body: "<!>+2\r\nhi\r\n0\r\n\r\n"), :chunk_size
    bad "a chunk size with an underscore", post("Transfer-Encoding: chunked", body: "1<!>_0\r\nhi\r\n0\r\n\r\n"), :chunk_size
    bad "white space before a chunk size", post("Transfer-Encoding: chunked", body: "<!> 2\r\nhi\r\n0\r\n\r\n"), :chunk_size
    bad "a chunk size over 2^64", post("Transfer-Encoding: chunked", body: "1000000000000000<!>2\r\nhi\r\n0\r\n\r\n"),
        :chunk_size_overflow
    bad "a chunk size that LF ends", post("Transfer-Encoding: chunked", body: "2<!>\nhi\r\n0\r\n\r\n"), :bare_lf
    bad "a chunk that LF ends", post("Transfer-Encoding: chunked", body: "2\r\nhi<!>\n0\r\n\r\n"), :chunk_end, body: "hi"
    bad "a chunk longer than it says", post("Transfer-Encoding: chunked", body: "2\r\nhi<!>!\r\n0\r\n\r\n"), :chunk_end,
        body: "hi"
    bad "a trailer folded", post("Transfer-Encoding: chunked", body: "0\r\nA: b\r\n<!> c\r\n\r\n"), :obs_fold
    bad "a trailer without a colon", post("Transfer-Encoding: chunked", body: "0\r\nA<!>\r\n\r\n"), :no_colon
    bad "a bare CR in a chunk size", post("Transfer-Encoding: chunked", body: "2\r<!>x\r\nhi\r\n0\r\n\r\n"), :bare_cr
    bad "NUL in a chunk extension", post("Transfer-Encoding: chunked", body: "2;a<!>\0\r\nhi\r\n0\r\n\r\n"), :chunk_extension

    # ---- Connection, Upgrade, Expect
    good "close", ask("Host: a", "Connection: close"), persistent: false
    good "keep-alive in HTTP/1.0", ask("Connection: keep-alive", line: "GET / HTTP/1.0"), persistent: true
    good "an upgrade", ask("Host: a", "Connection: keep-alive, Upgrade", "Upgrade: websocket"),
         upgrade: true, persistent: true, framing: :none
    good "an upgrade that Connection doesn't name", ask("Host: a", "Upgrade: websocket"), upgrade: false
    good "an upgrade to nothing", ask("Host: a", "Connection: Upgrade"), upgrade: false
    good "an upgrade in HTTP/1.0", ask("Connection: Upgrade", "Upgrade: x", line: "GET / HTTP/1.0"), upgrade: false
    good "100-continue", post("Expect: 100-Continue", "Content-Length: 2"), expect_continue: true, ends: :more, body: ""
    good "100-continue in HTTP/1.0", ask("Expect: 100-continue", line: "POST / HTTP/1.0"), expect_continue: false
    good "another expectation", post("Expect: 200-ok"), expect_continue: false

    # ---- limits
    good "a request line at the limit", ask("Host: a"), limits: { start_line: 14 }, target: "/"
    bad "a request line over the limit", ask("Host: a", line: "GET / HTTP/1.<!>1"), :start_line_limit, limits: { start_line: 13 }
    bad "a target without end", "GET /#{"a" * 27}<!>aa", :start_line_limit, limits: { start_line: 32 }
    good "an empty line and a request line at the limit", "\r\n#{ask("Host: a")}", limits: { start_line: 14 }, target: "/"
    bad "an empty line and a request line over the limit", "\r\nGET / HTTP/1.<!>1\r\nHost: a\r\n\r\n", :start_line_limit,
        limits: { start_line: 13 }
    bad "a head over the limit", ask("Host: a", "A: <!>bbb"), :head_limit, limits: { head: 28 }
    bad "more fields than are allowed", ask("Host: a", "<!>A: b"), :headers_limit, limits: { headers: 1 }
    bad "a length over the limit", "#{post("Content-Length: 6")}<!>hello!", :body_limit, limits: { body: 5 }
  end
end
