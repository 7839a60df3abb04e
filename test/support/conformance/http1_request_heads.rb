# frozen_string_literal: true

require_relative "http1_samples"

module Conformance
  # The first lines and the fields of requests (RFC 9112 §3 and §5).
  HTTP1_REQUEST_HEADS = HTTP1Samples.table do # rubocop:disable Metrics/BlockLength -- a table
    # ---- request lines: RFC 9112 §3
    good "the plainest", ask("Host: a"),
         method: "GET", target: "/", version: "1.1", framing: :none, body: "", persistent: true, headers: [%w[Host a]]
    good "a path and a query", ask("Host: a", line: "GET /a/b%20c?d=e&f=%2F HTTP/1.1"), target: "/a/b%20c?d=e&f=%2F"
    good "bytes above 127", ask("Host: a", line: "GET /caf\xC3\xA9?\xFF HTTP/1.1"), target: "/caf\xC3\xA9?\xFF".b
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
    bad "a byte above 127 in an absolute target's host", "GET <!>http://caf\xC3\xA9/ HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "a byte above 127 in CONNECT's target", "CONNECT <!>caf\xC3\xA9:80 HTTP/1.1\r\nHost: a\r\n\r\n", :target_form
    bad "DEL behind a byte above 127", "GET /\xC3<!>\x7F HTTP/1.1\r\nHost: a\r\n\r\n", :control
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
    bad "Host with an IPv6 address without brackets", ask("Host: <!>::1:80"), :host
    bad "Host with a bracket open", ask("Host: <!>[::1"), :host
    bad "Host with empty brackets", ask("Host: <!>[]"), :host
    bad "Host with something behind the brackets", ask("Host: <!>[::1]x"), :host
    bad "Host with a broken escape", ask("Host: <!>a%2"), :host
    bad "Host with obs-text", ask("Host: <!>caf\xE9"), :host
    bad "Host with a list", ask("Host: <!>a, b"), :host

    # ---- fields: RFC 9112 §5, RFC 9110 §5
    good "a value between white space", ask("Host: a", "A: \t b \t"), headers: [%w[Host a], %w[A b]]
    good "no white space behind the colon", ask("Host:a", "A:b"), headers: [%w[Host a], %w[A b]]
    good "an empty value", ask("Host: a", "A:"), headers: [%w[Host a], ["A", ""]]
    good "a value of white space", ask("Host: a", "A: \t "), headers: [%w[Host a], ["A", ""]]
    good "white space within a value", ask("Host: a", "A: b \t c"), headers: [%w[Host a], ["A", "b \t c"]]
    good "a colon in a value", ask("Host: a", "A: b:c"), headers: [%w[Host a], ["A", "b:c"]]
    good "a colon first in a value", ask("Host: a", "A::b"), headers: [%w[Host a], ["A", ":b"]]
    good "obs-text in a value", ask("Host: a", "A: caf\xE9"), headers: [%w[Host a], ["A", "caf\xE9".b]]
    good "a name of all characters", ask("Host: a", "!#$%&'*+-.^_`|~09azAZ: b"),
         headers: [%w[Host a], ["!#$%&'*+-.^_`|~09azAZ", "b"]]
    good "a field twice", ask("Host: a", "A: b", "a: c"), headers: [%w[Host a], %w[A b], %w[a c]]
    good "Host in capitals", ask("HOST: a"), headers: [%w[HOST a]]
    good "Host last", ask("A: b", "Host: a"), headers: [%w[A b], %w[Host a]]
    bad "no colon", ask("Host: a", "A<!>"), :no_colon
    bad "no colon, and a space", ask("Host: a", "A<!> b"), :space_in_name
    bad "no name", ask("Host: a", "<!>: b"), :empty_name
    bad "a tab before the colon", ask("Host: a", "A<!>\t: b"), :space_in_name
    bad "a space in a name", ask("Host: a", "A<!> B: c"), :space_in_name
    bad "a fold by a tab", ask("Host: a", "A: b", "<!>\tc"), :obs_fold
    bad "a fold of nothing but white space", ask("Host: a", "A: b", "<!> "), :obs_fold
    bad "white space before the first field", ask("<!> Host: a"), :leading_space
    bad "a tab before the first field", ask("<!>\tHost: a"), :leading_space
    bad "a name with a parenthesis", ask("Host: a", "A<!>(: b"), :field_name
    bad "a name with a slash", ask("Host: a", "A<!>/B: c"), :field_name
    bad "a name in quotes", ask("Host: a", "<!>\"A\": b"), :field_name
    bad "a name with obs-text", ask("Host: a", "A<!>\xE9: b"), :field_name
    bad "a name with DEL", ask("Host: a", "A<!>\x7F: b"), :control
    bad "DEL in a value", ask("Host: a", "A: b<!>\x7F"), :control
    bad "ESC in a value", ask("Host: a", "A: b<!>\e[0m"), :control
    bad "BEL first in a value", ask("Host: a", "A: <!>\ab"), :control
    bad "NUL in a name", ask("Host: a", "A<!>\0: b"), :control
    bad "two CRs at the end of a field", ask("Host: a", "A: b<!>\r"), :bare_cr
    bad "LF at the end of the head", "GET / HTTP/1.1\r\nHost: a\r\n<!>\n", :bare_lf
    bad "LF at the end of the last field", "GET / HTTP/1.1\r\nHost: a<!>\n\r\n", :bare_lf
    bad "CR alone at the end of the head", "GET / HTTP/1.1\r\nHost: a\r\n<!>\rG", :bare_cr
    bad "a request in a field", ask("Host: a", "GET<!> /b HTTP/1.1"), :space_in_name
  end
end
