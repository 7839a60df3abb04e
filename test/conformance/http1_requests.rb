# frozen_string_literal: true

require_relative "http1_samples"

module Conformance
  # Requests, as a server gets them (RFC 9112 §3 to §9).
  HTTP1_REQUESTS = HTTP1Samples.table do # rubocop:disable Metrics/BlockLength -- a table
    # ---- request lines: RFC 9112 §3
    good "the plainest", ask("Host: a"),
         method: "GET", target: "/", version: "1.1", framing: :none, body: "", persistent: true, headers: [%w[Host a]]
    good "a path and a query", ask("Host: a", line: "GET /a/b%20c?d=e&f=%2F HTTP/1.1"), target: "/a/b%20c?d=e&f=%2F"
    good "bytes that browsers don't escape", ask("Host: a", line: "GET /a|b^c?{d}=\"e\" HTTP/1.1"), target: "/a|b^c?{d}=\"e\""
    good "two slashes", ask("Host: a", line: "GET //a HTTP/1.1"), target: "//a"
    good "an absolute target", ask("Host: a", line: "GET http://a:80/b HTTP/1.1"), target: "http://a:80/b"
    good "an absolute target without a path", ask("Host: a", line: "GET http://a HTTP/1.1"), target: "http://a"
    good "CONNECT", ask("Host: a:443", line: "CONNECT a:443 HTTP/1.1"), method: "CONNECT", target: "a:443"
    good "CONNECT to an IPv6 address", ask("Host: [::1]:443", line: "CONNECT [::1]:443 HTTP/1.1"), target: "[::1]:443"
    good "OPTIONS of the server", ask("Host: a", line: "OPTIONS * HTTP/1.1"), method: "OPTIONS", target: "*"
    good "an unknown method", ask("Host: a", line: "M-SEARCH! /x HTTP/1.1"), method: "M-SEARCH!"
    good "a method in small letters", ask("Host: a", line: "get / HTTP/1.1"), method: "get"
    good "an empty line first", "\r\n#{ask("Host: a")}", method: "GET", headers: [%w[Host a]]
    good "HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", version: "1.0", persistent: false, headers: []
    bad "two empty lines first", "\r\n<!>\r\n#{ask("Host: a")}", :request_line
    bad "LF first", "<!>\n#{ask("Host: a")}", :bare_lf
    bad "CR first", "<!>\rG#{ask("Host: a")}", :bare_cr
    bad "white space first", ask("Host: a", line: "<!> GET / HTTP/1.1"), :method
    bad "HTTP/0.9", "GET /<!>\r\n", :no_version
    bad "nothing but a method", "GET<!>\r\n\r\n", :request_line
    bad "a method and a space", "GET <!>\r\n\r\n", :request_line
    bad "no target", "GET <!> HTTP/1.1\r\nHost: a\r\n\r\n", :request_line
    bad "two spaces before the target", "GET <!> / HTTP/1.1\r\nHost: a\r\n\r\n", :request_line
    bad "two spaces before the version", "GET / <!> HTTP/1.1\r\nHost: a\r\n\r\n", :request_line
    bad "a space behind the version", "GET / HTTP/1.1<!> \r\nHost: a\r\n\r\n", :request_line
    bad "words behind the version", "GET / HTTP/1.1<!> HTTP/1.1\r\nHost: a\r\n\r\n", :request_line
    bad "a letter behind the version", "GET / HTTP/1.1<!>x\r\nHost: a\r\n\r\n", :request_line
    bad "a space in the target", "GET /a <!>b HTTP/1.1\r\nHost: a\r\n\r\n", :request_line
    bad "a tab behind the method", "GET<!>\t/ HTTP/1.1\r\nHost: a\r\n\r\n", :method
    bad "a tab in the target", "GET /<!>\tb HTTP/1.1\r\nHost: a\r\n\r\n", :target
    bad "a method that is no token", "GE<!>(T / HTTP/1.1\r\nHost: a\r\n\r\n", :method
    bad "a method with a colon", "GET<!>: / HTTP/1.1\r\nHost: a\r\n\r\n", :method
    bad "a fragment", "GET /a<!>#b HTTP/1.1\r\nHost: a\r\n\r\n", :target
    bad "bytes above 127 in the target", "GET /caf<!>\xC3\xA9 HTTP/1.1\r\nHost: a\r\n\r\n", :target
    bad "NUL in the target", "GET /<!>\0 HTTP/1.1\r\nHost: a\r\n\r\n", :control
    bad "NUL first", "<!>\0GET / HTTP/1.1\r\nHost: a\r\n\r\n", :control
    bad "a TLS hello", "<!>\x16\x03\x01\x02\x00\x01\x00", :control
    bad "bare CR in the target", "GET /<!>\rb HTTP/1.1\r\nHost: a\r\n\r\n", :bare_cr
    bad "a request line that LF ends", "GET / HTTP/1.1<!>\nHost: a\r\n\r\n", :bare_lf
    bad "HTTP/2's preface", "<!>PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", :preface
    bad "HTTP/2.0", "GET / HTTP/<!>2.0\r\nHost: a\r\n\r\n", :version
    bad "HTTP/1.2", "GET / HTTP/<!>1.2\r\nHost: a\r\n\r\n", :version
    bad "HTTP/1.11", "GET / HTTP/<!>1.11\r\nHost: a\r\n\r\n", :version
    bad "HTTP/0.9 as a version", "GET / HTTP/<!>0.9\r\nHost: a\r\n\r\n", :version
    bad "HTTP/1", "GET / HTTP/<!>1\r\nHost: a\r\n\r\n", :version
    bad "HTTP/", "GET / HTTP/<!>\r\nHost: a\r\n\r\n", :version
    bad "http in small letters", "GET / <!>http/1.1\r\nHost: a\r\n\r\n", :request_line
    bad "half of HTTP", "GET / <!>HTT\r\nHost: a\r\n\r\n", :request_line
    bad "a relative target", "GET <!>a HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "a query alone", "GET <!>?a HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "an asterisk of GET", "GET <!>* HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "an asterisk and more", "OPTIONS <!>*/a HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "an authority of GET", "GET <!>a:80 HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "a path of CONNECT", "CONNECT <!>/a HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "CONNECT without a port", "CONNECT <!>a HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "CONNECT with an empty port", "CONNECT <!>a: HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "CONNECT with a user", "CONNECT <!>u@a:80 HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    good "an absolute target with a query only", ask("Host: a", line: "GET http://[::1]:8?b HTTP/1.1"), target: "http://[::1]:8?b"
    bad "an absolute target with an odd host", "GET <!>http://a\"b/ HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "an absolute target with an odd port", "GET <!>http://a:8`id`/ HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "an absolute target with a userinfo", "GET <!>http://a@b/ HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "an absolute target without a host", "GET <!>http:///a HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "a scheme that is none", "GET <!>1ttp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", :target_form

    # ---- Host: RFC 9112 §3.2
    good "Host with a port", ask("Host: example.com:8080"), headers: [["Host", "example.com:8080"]]
    good "Host with an empty port", ask("Host: a:"), headers: [["Host", "a:"]]
    good "an empty Host", ask("Host:"), headers: [["Host", ""]]
    good "Host with an IPv6 address", ask("Host: [2001:db8::1]:80"), headers: [["Host", "[2001:db8::1]:80"]]
    good "Host with an escape", ask("Host: a%20b"), headers: [["Host", "a%20b"]]
    good "Host with an underscore", ask("Host: my_host"), headers: [%w[Host my_host]]
    bad "no Host", "GET / HTTP/1.1\r\nA: b\r\n<!>\r\n", :no_host
    bad "no field at all", "GET / HTTP/1.1\r\n<!>\r\n", :no_host
    bad "two Hosts", ask("Host: a", "<!>Host: b"), :two_hosts
    bad "the same Host twice", ask("Host: a", "<!>host: a"), :two_hosts
    bad "two Hosts in HTTP/1.0", ask("Host: a", "<!>Host: b", line: "GET / HTTP/1.0"), :two_hosts
    bad "Host with a space", ask("Host: <!>a b"), :host
    bad "Host with a path", ask("Host: <!>a/b"), :host
    bad "Host with a user", ask("Host: <!>u@a"), :host
    bad "Host with a port that is no number", ask("Host: <!>a:b"), :host
    bad "Host with two ports", ask("Host: <!>a:1:2"), :host
    bad "Host with a port alone", ask("Host: <!>:80"), :host
    bad "Host with a bracket open", ask("Host: <!>[::1"), :host
    bad "Host with empty brackets", ask("Host: <!>[]"), :host
    bad "Host with something behind the brackets", ask("Host: <!>[::1]x"), :host
    bad "Host with a broken escape", ask("Host: <!>a%2"), :host
    bad "Host with obs-text", ask("Host: <!>caf\xE9"), :host
    bad "Host with a list", ask("Host: <!>a, b"), :host

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
