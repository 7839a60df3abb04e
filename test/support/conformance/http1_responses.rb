# frozen_string_literal: true

require_relative "http1_samples"

module Conformance # rubocop:disable Metrics/ModuleLength -- a table
  # Responses, as a client gets them (RFC 9112 §4 to §9).
  HTTP1_RESPONSES = HTTP1Samples.table do # rubocop:disable Metrics/BlockLength -- a table
    # ---- status lines: RFC 9112 §4
    good "the plainest", ok("Content-Length: 0"),
         status: 200, reason: "OK", version: "1.1", framing: :length, body: "", persistent: true, length: 0
    good "no reason, with its space", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", status: 200, reason: ""
    good "no reason, without the space", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", status: 200, reason: ""
    good "a reason of many words", "HTTP/1.1 404 Not  Found at all\r\nContent-Length: 0\r\n\r\n",
         status: 404, reason: "Not  Found at all"
    good "a reason with obs-text", "HTTP/1.1 200 Tr\xE8s bien\r\nContent-Length: 0\r\n\r\n", reason: "Tr\xE8s bien".b
    good "a reason in UTF-8", "HTTP/1.1 200 d’accord\r\nContent-Length: 0\r\n\r\n", reason: "d’accord"
    good "a reason with a tab", "HTTP/1.1 200 a\tb\r\nContent-Length: 0\r\n\r\n", reason: "a\tb"
    good "an unknown status", ok("Content-Length: 0", status: "299 Odd"), status: 299
    good "a status above 599", ok("Content-Length: 0", status: "999 Request denied"), status: 999
    good "HTTP/1.0", ok("Content-Length: 2", version: "1.0", body: "hi"), version: "1.0", body: "hi", persistent: false
    good "no field at all", "HTTP/1.1 200 OK\r\n\r\nhello",
         eof: true, framing: :close, body: "hello", persistent: false, headers: []
    bad "HTTP/0.9", "<!><html>hello</html>\r\n", :not_http
    bad "an empty line first", "<!>\r\nHTTP/1.1 200 OK\r\n\r\n", :not_http
    bad "another protocol", "<!>SSH-2.0-OpenSSH_9.2p1\r\n", :not_http
    bad "a name in small letters", "<!>http/1.1 200 OK\r\n\r\n", :not_http
    bad "almost HTTP", "HTT<!>X/1.1 200 OK\r\n\r\n", :not_http
    bad "a TLS record", "<!>\x15\x03\x01\x00\x02\x02\x28", :not_http
    bad "ICY", "<!>ICY 200 OK\r\n\r\n", :not_http
    bad "a line break in the name", "HTTP<!>\r\n\r\n", :not_http
    bad "HTTP/2.0", "HTTP/<!>2.0 200 OK\r\n\r\n", :version
    bad "HTTP/2 without a minor version", "HTTP/<!>2 200\r\n\r\n", :version
    bad "HTTP/1.2", "HTTP/<!>1.2 200 OK\r\n\r\n", :version
    bad "HTTP/0.9 as a version", "HTTP/<!>0.9 200 OK\r\n\r\n", :version
    bad "HTTP/1.10", "HTTP/<!>1.10 200 OK\r\n\r\n", :version
    bad "HTTP/01.1", "HTTP/<!>01.1 200 OK\r\n\r\n", :version
    bad "no version", "HTTP/<!> 200 OK\r\n\r\n", :version
    bad "HTTP/1,1", "HTTP/<!>1,1 200 OK\r\n\r\n", :version
    bad "HTTP/1", "HTTP/<!>1 200 OK\r\n\r\n", :version
    bad "nothing but a version", "HTTP/1.1<!>\r\n\r\n", :status_line
    bad "a tab after the version", "HTTP/1.1<!>\t200 OK\r\n\r\n", :status_line
    bad "two spaces before the status", "HTTP/1.1 <!> 200 OK\r\n\r\n", :status
    bad "a status of two digits", "HTTP/1.1 <!>20 OK\r\n\r\n", :status
    bad "a status of four digits", "HTTP/1.1 <!>2000 OK\r\n\r\n", :status
    bad "a status of letters", "HTTP/1.1 <!>abc OK\r\n\r\n", :status
    bad "a status with a sign", "HTTP/1.1 <!>+20 OK\r\n\r\n", :status
    bad "a status in hexadecimal", "HTTP/1.1 <!>0xC OK\r\n\r\n", :status
    bad "a status below 100", "HTTP/1.1 <!>099 OK\r\n\r\n", :status
    bad "no status", "HTTP/1.1 <!>OK\r\n\r\n", :status
    bad "a reason without a space", "HTTP/1.1 200<!>OK\r\n\r\n", :status_line
    bad "NUL in the reason", "HTTP/1.1 200 O<!>\0K\r\n\r\n", :control
    bad "bare CR in the reason", "HTTP/1.1 200 O<!>\rK\r\n\r\n", :bare_cr
    bad "a status line that LF ends", "HTTP/1.1 200 OK<!>\nContent-Length: 0\r\n\r\n", :bare_lf
    bad "a status line that CR CR LF ends", "HTTP/1.1 200 OK<!>\r\r\nContent-Length: 0\r\n\r\n", :bare_cr

    # ---- fields: RFC 9112 §5, RFC 9110 §5
    good "white space around a value", ok("Content-Length: 0", "A:  \t b c\t "), headers: [%w[Content-Length 0], ["A", "b c"]]
    good "no white space before a value", ok("Content-Length:0", "A:b"), headers: [%w[Content-Length 0], %w[A b]]
    good "an empty value", ok("Content-Length: 0", "A:"), headers: [%w[Content-Length 0], ["A", ""]]
    good "a value of white space", ok("Content-Length: 0", "A: \t "), headers: [%w[Content-Length 0], ["A", ""]]
    good "a value with colons", ok("Content-Length: 0", "A: b:c:d"), headers: [%w[Content-Length 0], ["A", "b:c:d"]]
    good "every byte of a token", ok("Content-Length: 0", "!#$%&'*+-.^_`|~09azAZ: x"),
         headers: [%w[Content-Length 0], ["!#$%&'*+-.^_`|~09azAZ", "x"]]
    good "obs-text in a value", ok("Content-Length: 0", "A: caf\xE9"), headers: [%w[Content-Length 0], ["A", "caf\xE9".b]]
    good "UTF-8 in a value", ok("Content-Length: 0", "A: café"), headers: [%w[Content-Length 0], %w[A café]]
    good "a tab in a value", ok("Content-Length: 0", "A: b\tc"), headers: [%w[Content-Length 0], ["A", "b\tc"]]
    good "tabs next to words of eight bytes", ok("Content-Length: 0", "A: 1234567\t12345678\t\t123456\t"),
         headers: [%w[Content-Length 0], ["A", "1234567\t12345678\t\t123456"]]
    good "the same field twice", ok("Content-Length: 0", "Set-Cookie: a=1", "Set-Cookie: b=2"),
         headers: [%w[Content-Length 0], %w[Set-Cookie a=1], %w[Set-Cookie b=2]]
    good "names in odd cases", ok("cOnTeNt-LeNgTh: 2", "CONNECTION: CLOSE", body: "ok"), body: "ok", persistent: false
    good "a name that is almost known", ok("Content-Lengti: 5", "Content_Length: 7", "Content-Length: 1", body: "x"), body: "x"
    good "a name that is known with a letter more", ok("Content-Lengths: 5", "Content-Length: 1", body: "x"), body: "x"
    bad "white space before the colon", ok("Content-Length<!> : 0"), :space_in_name
    bad "a tab before the colon", ok("Content-Length<!>\t: 0"), :space_in_name
    bad "white space in a name", ok("Content<!> Length: 0"), :space_in_name
    bad "white space before the first field", ok("<!> Content-Length: 0"), :leading_space
    bad "a tab before the first field", ok("<!>\tContent-Length: 0"), :leading_space
    bad "a folded value", ok("A: b", "<!> c"), :obs_fold
    bad "a folded value, by a tab", ok("A: b", "<!>\tc"), :obs_fold
    bad "a folded length", ok("Content-Length:<!>", " 5", body: "hello"), :content_length
    bad "a line of white space", ok("A: b", "<!> "), :obs_fold
    bad "no name", ok("<!>: b"), :empty_name
    bad "no colon", ok("Content-Length<!>"), :no_colon
    bad "no colon, in the second line", ok("A: b", "junk<!>"), :no_colon
    bad "parentheses in a name", ok("Foo<!>(x): b"), :field_name
    bad "a slash in a name", ok("<!>/a: b"), :field_name
    bad "a name in quotes", ok("<!>\"a\": b"), :field_name
    bad "obs-text in a name", ok("caf<!>\xE9: b"), :field_name
    bad "NUL in a name", ok("A<!>\0: b"), :control
    bad "NUL in a value", ok("A: b<!>\0c"), :control
    bad "DEL in a value", ok("A: b<!>\x7Fc"), :control
    bad "escape in a value", ok("A: <!>\e[31m"), :control
    bad "vertical tab in a value", ok("A: b<!>\vc"), :control
    bad "bare CR in a value", ok("A: b<!>\rSet-Cookie: x=y"), :bare_cr
    bad "bare CR before the end", ok("A: b<!>\r"), :bare_cr
    bad "a field line that LF ends", "HTTP/1.1 200 OK\r\nA: b<!>\nC: d\r\n\r\n", :bare_lf
    bad "a head that LF LF ends", "HTTP/1.1 200 OK\r\nA: b<!>\n\nbody", :bare_lf
    bad "a head that LF ends", "HTTP/1.1 200 OK\r\nA: b\r\n<!>\nbody", :bare_lf
    bad "a head that CR and a letter end", "HTTP/1.1 200 OK\r\nA: b\r\n<!>\rbody", :bare_cr

    # ---- Content-Length: RFC 9110 §8.6, RFC 9112 §6.3
    good "a body by length", ok("Content-Length: 5", body: "hello"), framing: :length, length: 5, body: "hello"
    good "bytes of every kind", ok("Content-Length: 256", body: (0..255).map(&:chr).join), body: (0..255).map(&:chr).join.b
    good "the next response behind it", ok("Content-Length: 5", body: "helloHTTP/1.1 200 OK\r\n"),
         body: "hello", rest: "HTTP/1.1 200 OK\r\n"
    good "the same length twice in one field", ok("Content-Length: 5, 5", body: "hello"), body: "hello"
    good "the same length in two fields", ok("Content-Length: 5", "Content-Length: 5", body: "hello"), body: "hello"
    good "a length with zeros before it", ok("Content-Length: 0005", body: "hello"), body: "hello"
    good "the largest length, of a HEAD", ok("Content-Length: 9223372036854775807"), to: "HEAD", length: (2**63) - 1
    good "a body that isn't complete yet", ok("Content-Length: 5", body: "hel"), body: "hel", ends: :more
    bad "different lengths in one field", ok("Content-Length: 5, <!>6", body: "hello"), :content_length_conflict
    bad "different lengths in two fields", ok("Content-Length: 5", "Content-Length: <!>6", body: "hello"),
        :content_length_conflict
    bad "a third length that differs", ok("Content-Length: 5, 5", "Content-Length: <!>50"), :content_length_conflict
    bad "a length with a plus", ok("Content-Length: <!>+5", body: "hello"), :content_length
    bad "a length with a minus", ok("Content-Length: <!>-5", body: "hello"), :content_length
    bad "a length in hexadecimal", ok("Content-Length: 0<!>x5", body: "hello"), :content_length
    bad "a length with a space in it", ok("Content-Length: 1<!> 0", body: "hello"), :content_length
    bad "a length with a point", ok("Content-Length: 5<!>.0", body: "hello"), :content_length
    bad "a length with an underscore", ok("Content-Length: 1<!>_0", body: "hello"), :content_length
    bad "a length in words", ok("Content-Length: <!>five", body: "hello"), :content_length
    bad "an empty length", ok("Content-Length: <!>"), :content_length
    bad "an empty element in a length", ok("Content-Length: 5,<!>,5", body: "hello"), :content_length
    bad "a comma after a length", ok("Content-Length: 5,<!>", body: "hello"), :content_length
    bad "a length in quotes", ok("Content-Length: <!>\"5\"", body: "hello"), :content_length
    bad "a length of 2^63", ok("Content-Length: <!>9223372036854775808"), :content_length_overflow
    bad "a length of 2^64 + 5", ok("Content-Length: <!>18446744073709551621", body: "hello"), :content_length_overflow
    bad "a length of 40 digits", ok("Content-Length: <!>#{"9" * 40}"), :content_length_overflow
    bad "an end before the length", ok("Content-Length: 5", body: "hel<!>"), :truncated_length, eof: true, body: "hel"
    bad "an end before the body", "#{ok("Content-Length: 5")}<!>", :truncated_length, eof: true, body: ""
    bad "a length over 2^63 in a response to HEAD", ok("Content-Length: <!>9223372036854775808"), :content_length_overflow,
        to: "HEAD"

    # ---- Transfer-Encoding: RFC 9112 §6.1, §7
    good "chunks", chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"), framing: :chunked, body: "hello world", persistent: true
    good "no chunk but the last", chunked("0\r\n\r\n"), body: ""
    good "chunked in capitals", ok("Transfer-Encoding: Chunked", body: "1\r\na\r\n0\r\n\r\n"), framing: :chunked, body: "a"
    good "CHUNKED in capitals only", ok("Transfer-Encoding: CHUNKED", body: "1\r\na\r\n0\r\n\r\n"), body: "a"
    good "the field's name in capitals", ok("TRANSFER-ENCODING: chunked", body: "1\r\na\r\n0\r\n\r\n"), body: "a"
    good "white space around chunked", ok("Transfer-Encoding: \tchunked \t", body: "1\r\na\r\n0\r\n\r\n"), body: "a"
    good "many chunks", chunked("#{"1\r\na\r\n" * 20}0\r\n\r\n"), body: "a" * 20
    good "sizes in capitals", chunked("A\r\n0123456789\r\n0\r\n\r\n"), body: "0123456789"
    good "sizes in small letters", chunked("a\r\n0123456789\r\n0\r\n\r\n"), body: "0123456789"
    good "sizes with zeros before them", chunked("0005\r\nhello\r\n0000\r\n\r\n"), body: "hello"
    good "a size of 16 digits", chunked("0000000000000001\r\na\r\n0\r\n\r\n"), body: "a"
    good "chunks with line breaks in them", chunked("4\r\n\r\n\r\n\r\n0\r\n\r\n"), body: "\r\n\r\n"
    good "a chunk that looks like the last", chunked("5\r\n0\r\n\r\n\r\n0\r\n\r\n"), body: "0\r\n\r\n"
    good "the next response behind the chunks", chunked("1\r\na\r\n0\r\n\r\nHTTP/1.1"), body: "a", rest: "HTTP/1.1"
    good "chunks that aren't complete yet", chunked("5\r\nhello\r\n"), body: "hello", ends: :more
    good "chunks without the last line break yet", chunked("1\r\na\r\n0\r\n"), body: "a", ends: :more
    good "an extension", chunked("5;a\r\nhello\r\n0\r\n\r\n"), body: "hello"
    good "an extension with a value", chunked("5;a=b\r\nhello\r\n0;last\r\n\r\n"), body: "hello"
    good "an extension in quotes", chunked("5;a=\"b;c=\\\"d\\\\ \"\r\nhello\r\n0\r\n\r\n"), body: "hello"
    good "white space in extensions", chunked("5 ; a = b\t;c\r\nhello\r\n0\r\n\r\n"), body: "hello"
    good "many extensions", chunked("5;a;b=1;c=\"2\";d\r\nhello\r\n0\r\n\r\n"), body: "hello"
    good "obs-text in quotes", chunked("1;a=\"\xE9\"\r\na\r\n0\r\n\r\n"), body: "a"
    bad "a size with 0x", chunked("0<!>x5\r\nhello\r\n0\r\n\r\n"), :chunk_size
    bad "a size with a plus", chunked("<!>+5\r\nhello\r\n0\r\n\r\n"), :chunk_size
    bad "a size with a minus", chunked("<!>-5\r\nhello\r\n0\r\n\r\n"), :chunk_size
    bad "a size with white space before it", chunked("<!> 5\r\nhello\r\n0\r\n\r\n"), :chunk_size
    bad "a size with white space behind it", chunked("5 <!>\r\nhello\r\n0\r\n\r\n"), :chunk_extension
    bad "a size with an underscore", chunked("1<!>_0\r\n0123456789abcdef\r\n0\r\n\r\n"), :chunk_size
    bad "a size with a point", chunked("5<!>.\r\nhello\r\n0\r\n\r\n"), :chunk_size
    bad "no size", chunked("<!>\r\nhello\r\n0\r\n\r\n"), :chunk_size
    bad "no size but an extension", chunked("<!>;a\r\nhello\r\n0\r\n\r\n"), :chunk_size
    bad "a size that isn't hexadecimal", chunked("<!>g\r\nhello\r\n0\r\n\r\n"), :chunk_size
    bad "a body that isn't chunked", chunked("<!>hello"), :chunk_size
    bad "a size of 17 digits", chunked("0000000000000000<!>5\r\nhello\r\n0\r\n\r\n"), :chunk_size_overflow
    bad "a size over 2^64", chunked("1000000000000000<!>5\r\nhello\r\n0\r\n\r\n"), :chunk_size_overflow
    bad "a size of 2^63", chunked("800000000000000<!>0\r\nhello"), :chunk_size_overflow
    bad "a size of 2^64 - 1", chunked("fffffffffffffff<!>f\r\nhello"), :chunk_size_overflow
    good "the largest size", chunked("7fffffffffffffff\r\nhello"), limits: { body: nil }, ends: :more, body: "hello"
    bad "the largest size over the limit", chunked("7fffffffffffffff\r<!>\nhello"), :body_limit
    bad "two sizes that would wrap together", chunked("5\r\nhello\r\nfffffffffffffff<!>e\r\nhello"), :chunk_size_overflow,
        body: "hello"
    bad "a size line that LF ends", chunked("5<!>\nhello\r\n0\r\n\r\n"), :bare_lf
    bad "a size line that CR ends", chunked("5\r<!>hello\r\n0\r\n\r\n"), :bare_cr
    bad "an extension that LF ends", chunked("5;a<!>\nhello\r\n0\r\n\r\n"), :bare_lf
    bad "an extension without a name", chunked("5;<!>\r\nhello\r\n0\r\n\r\n"), :chunk_extension
    bad "an extension without a value", chunked("5;a=<!>\r\nhello\r\n0\r\n\r\n"), :chunk_extension
    bad "an extension with two values", chunked("5;a=b<!>=c\r\nhello\r\n0\r\n\r\n"), :chunk_extension
    bad "a quote that isn't closed", chunked("5;a=\"b<!>\r\nhello\r\n0\r\n\r\n"), :chunk_extension
    bad "something behind a quote", chunked("5;a=\"b\"<!>c\r\nhello\r\n0\r\n\r\n"), :chunk_extension
    bad "NUL in an extension", chunked("5;a<!>\0\r\nhello\r\n0\r\n\r\n"), :chunk_extension
    bad "bare LF in quotes", chunked("5;a=\"b<!>\n\"\r\nhello\r\n0\r\n\r\n"), :bare_lf
    bad "words behind a size", chunked("5 <!>bytes\r\nhello\r\n0\r\n\r\n"), :chunk_extension
    bad "a chunk that is longer than its size", chunked("5\r\nhello<!>!\r\n0\r\n\r\n"), :chunk_end, body: "hello"
    bad "a chunk that is shorter than its size", chunked("5\r\nhell\r<!>\n0\r\n\r\n"), :chunk_end, body: "hell\r"
    bad "a chunk that LF ends", chunked("5\r\nhello<!>\n0\r\n\r\n"), :chunk_end, body: "hello"
    bad "a chunk that CR ends", chunked("5\r\nhello\r<!>0\r\n\r\n"), :chunk_end, body: "hello"
    bad "a chunk with no end", chunked("5\r\nhello<!>0\r\n\r\n"), :chunk_end, body: "hello"
    bad "an end in a chunk", chunked("5\r\nhel<!>"), :truncated_chunked, eof: true, body: "hel"
    bad "an end in a size", chunked("5<!>"), :truncated_chunked, eof: true, body: ""
    bad "an end between chunks", chunked("5\r\nhello\r\n<!>"), :truncated_chunked, eof: true, body: "hello"
    bad "an end after the last size", chunked("5\r\nhello\r\n0\r\n<!>"), :truncated_chunked, eof: true, body: "hello"
    bad "an end in the last line break", chunked("5\r\nhello\r\n0\r\n\r<!>"), :truncated_chunked, eof: true, body: "hello"
    bad "an end in a trailer", chunked("0\r\nA: b\r\n<!>"), :truncated_chunked, eof: true
    bad "an end before the first chunk", chunked("<!>"), :truncated_chunked, eof: true
    bad "an unknown coding", ok("Transfer-Encoding: <!>gzip", body: "x"), :transfer_coding
    bad "an unknown coding before chunked", ok("Transfer-Encoding: <!>gzip, chunked", body: "0\r\n\r\n"), :transfer_coding
    bad "identity", ok("Transfer-Encoding: <!>identity", body: "x"), :transfer_coding
    bad "no coding", ok("Transfer-Encoding: <!>", body: "x"), :transfer_coding
    bad "an empty element before chunked", ok("Transfer-Encoding: <!>, chunked", body: "0\r\n\r\n"), :transfer_coding
    bad "chunked with a parameter", ok("Transfer-Encoding: <!>chunked;q=1", body: "0\r\n\r\n"), :transfer_coding
    bad "almost chunked", ok("Transfer-Encoding: <!>xchunked", body: "0\r\n\r\n"), :transfer_coding
    bad "chunked in quotes", ok("Transfer-Encoding: <!>\"chunked\"", body: "0\r\n\r\n"), :transfer_coding
    bad "two words", ok("Transfer-Encoding: <!>chunked chunked", body: "0\r\n\r\n"), :transfer_coding
    bad "chunked is not the last", ok("Transfer-Encoding: chunked, <!>gzip", body: "0\r\n\r\n"), :chunked_not_last
    bad "chunked is not the last, in two fields", ok("Transfer-Encoding: chunked", "Transfer-Encoding: <!>gzip"),
        :chunked_not_last
    bad "chunked twice", ok("Transfer-Encoding: chunked, <!>chunked", body: "0\r\n\r\n"), :chunked_twice
    bad "chunked twice, in two fields", ok("Transfer-Encoding: chunked", "Transfer-Encoding: <!>chunked"), :chunked_twice
    bad "chunked and a length", ok("Transfer-Encoding: chunked", "<!>Content-Length: 5", body: "0\r\n\r\n"), :two_lengths
    bad "a length and chunked", ok("Content-Length: 5", "<!>Transfer-Encoding: chunked", body: "0\r\n\r\n"), :two_lengths
    bad "chunked in HTTP/1.0", ok("<!>Transfer-Encoding: chunked", version: "1.0", body: "0\r\n\r\n"), :old_transfer_encoding

    # ---- trailers: RFC 9112 §7.1.2
    good "a trailer", chunked("1\r\na\r\n0\r\nDigest: x\r\n\r\n"), body: "a", trailers: [%w[Digest x]]
    good "trailers", chunked("0\r\nA:  b \r\nC:\r\nA: d\r\n\r\nrest"), trailers: [%w[A b], ["C", ""], %w[A d]], rest: "rest"
    good "a trailer that would frame", chunked("0\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\n\r\n"),
         trailers: [%w[Content-Length 5], %w[Transfer-Encoding gzip]], body: ""
    good "trailers with obs-text", chunked("0\r\nA: \xE9\r\n\r\n"), trailers: [["A", "\xE9".b]]
    bad "a folded trailer", chunked("0\r\nA: b\r\n<!> c\r\n\r\n"), :obs_fold
    bad "white space before the first trailer", chunked("0\r\n<!> A: b\r\n\r\n"), :leading_space
    bad "a trailer with white space before the colon", chunked("0\r\nA<!> : b\r\n\r\n"), :space_in_name
    bad "a trailer without a name", chunked("0\r\n<!>: b\r\n\r\n"), :empty_name
    bad "a trailer without a colon", chunked("0\r\nA<!>\r\n\r\n"), :no_colon
    bad "a trailer's name that is no token", chunked("0\r\nA<!>@: b\r\n\r\n"), :field_name
    bad "a trailer's name in quotes", chunked("0\r\n<!>\"A: b\r\n\r\n"), :field_name
    bad "NUL in a trailer's name", chunked("0\r\nA<!>\0: b\r\n\r\n"), :control
    bad "NUL in a trailer", chunked("0\r\nA: <!>\0b\r\n\r\n"), :control
    bad "NUL for a trailer", chunked("0\r\n<!>\0\r\n\r\n"), :control
    bad "a trailer that LF ends", chunked("0\r\nA: b<!>\n\r\n"), :bare_lf
    bad "bare CR in a trailer", chunked("0\r\nA: b\r<!>c\r\n\r\n"), :bare_cr
    bad "a body that LF ends", chunked("0\r\n<!>\n"), :bare_lf
    bad "a body that CR ends", chunked("0\r\n\r<!>x"), :bare_cr
    bad "trailers that LF ends", chunked("0\r\nA: b\r\n<!>\n"), :bare_lf

    # ---- no body: RFC 9112 §6.3
    good "a response to HEAD", ok("Content-Length: 5", body: "HTTP/1.1"),
         to: "HEAD", framing: :none, length: 5, body: "", rest: "HTTP/1.1", persistent: true
    good "a chunked response to HEAD", ok("Transfer-Encoding: chunked"), to: "HEAD", framing: :none, body: ""
    good "a response to HEAD without a length", ok, to: "HEAD", framing: :none, persistent: true
    good "204", ok(status: "204 No Content"), framing: :none, body: "", persistent: true, status: 204
    good "204 with a length", ok("Content-Length: 5", status: "204 No Content", body: "HTTP/"), framing: :none, rest: "HTTP/"
    good "304 with a length", ok("Content-Length: 5", status: "304 Not Modified", body: "HTTP/"), framing: :none, rest: "HTTP/"
    good "304 with chunked", ok("Transfer-Encoding: chunked", status: "304 Not Modified"), framing: :none
    good "205 with a length of 0", ok("Content-Length: 0", status: "205 Reset Content"), framing: :length, body: ""
    bad "two lengths in a response to HEAD", ok("Content-Length: 5", "<!>Transfer-Encoding: chunked"), :two_lengths, to: "HEAD"

    # ---- until the connection is closed
    good "until close", ok("A: b", body: "hello"), eof: true, framing: :close, body: "hello", persistent: false
    good "until close, nothing", ok("A: b"), eof: true, framing: :close, body: ""
    good "until close, not closed yet", ok("A: b", body: "hello"), framing: :close, body: "hello", ends: :more
    good "until close, although keep-alive", ok("Connection: keep-alive", body: "x"),
         eof: true, framing: :close, persistent: false, body: "x"
    good "until close, in HTTP/1.0", ok("A: b", version: "1.0", body: "x"), eof: true, framing: :close, body: "x"

    # ---- 1xx: RFC 9110 §15.2
    good "100 before the response", "HTTP/1.1 100 Continue\r\n\r\n#{ok("Content-Length: 2", body: "ok")}",
         interim: [100], body: "ok"
    good "two early hints", ("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 2) + ok("Content-Length: 0"),
         interim: [103, 103], status: 200
    good "1xx with a length", "HTTP/1.1 102 Processing\r\nContent-Length: 5\r\n\r\n#{ok("Content-Length: 0")}",
         interim: [102], status: 200
    good "an unknown 1xx", "HTTP/1.1 199 Odd\r\n\r\n#{ok("Content-Length: 0")}", interim: [199], status: 200
    good "1xx and no response yet", "HTTP/1.1 100 Continue\r\n\r\n", interim: [100], ends: :more, status: 100
    bad "1xx and an end", "HTTP/1.1 100 Continue\r\n\r\n<!>", :truncated_head, eof: true
    bad "1xx and an end in the head", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2<!>", :truncated_head, eof: true
    bad "1xx without end", "#{"HTTP/1.1 100 \r\n\r\n" * 3}HTTP/1.1 <!>100 \r\n\r\n", :interim_limit, limits: { interim: 3 }
    good "as many 1xx as are allowed", "#{"HTTP/1.1 100 \r\n\r\n" * 3}#{ok("Content-Length: 0")}",
         limits: { interim: 3 }, interim: [100] * 3
    bad "1xx and a broken response", "HTTP/1.1 100 Continue\r\n\r\n#{ok("A<!> : b")}", :space_in_name

    # ---- upgrades and tunnels: RFC 9110 §7.8, §9.3.6
    good "101", ok("Upgrade: websocket", "Connection: Upgrade", status: "101 Switching Protocols", body: "\x81\x05hello"),
         upgrade: true, framing: :tunnel, persistent: false, rest: "\x81\x05hello".b, status: 101
    bad "101 that wasn't asked for", ok("Upgrade: websocket", status: "101 Switching Protocols").sub("101", "<!>101"),
        :unasked_upgrade
    bad "101 to what?", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n<!>\r\n", :no_upgrade, upgrade: true
    good "200 to an upgrade", ok("Content-Length: 2", body: "no"), upgrade: true, framing: :length, body: "no"
    good "200 to CONNECT", ok(status: "200 Connection established", body: "\x16\x03\x01"),
         to: "CONNECT", framing: :tunnel, rest: "\x16\x03\x01".b
    good "200 to CONNECT with lengths", ok("Content-Length: 5", "Transfer-Encoding: chunked", body: "abc"),
         to: "CONNECT", framing: :tunnel, rest: "abc", length: nil
    good "200 to CONNECT with a length that is none", ok("Content-Length: x"), to: "CONNECT", framing: :tunnel
    good "407 to CONNECT", ok("Content-Length: 2", status: "407 Proxy Authentication Required", body: "no"),
         to: "CONNECT", framing: :length, body: "no"

    # ---- persistence: RFC 9112 §9.3
    good "close", ok("Content-Length: 0", "Connection: close"), persistent: false
    good "close among others", ok("Content-Length: 0", "Connection: foo, Close ,bar"), persistent: false
    good "close in a second field", ok("Content-Length: 0", "Connection: foo", "Connection: close"), persistent: false
    good "almost close", ok("Content-Length: 0", "Connection: closed"), persistent: true
    good "empty elements in Connection", ok("Content-Length: 0", "Connection: ,,close,"), persistent: false
    good "an empty Connection", ok("Content-Length: 0", "Connection:"), persistent: true
    good "keep-alive in HTTP/1.0", ok("Content-Length: 0", "Connection: Keep-Alive", version: "1.0"), persistent: true
    good "close and keep-alive", ok("Content-Length: 0", "Connection: keep-alive, close", version: "1.0"), persistent: false
    good "keep-alive in HTTP/1.1", ok("Content-Length: 0", "Connection: keep-alive"), persistent: true

    good "an idle time and a number", ok("Content-Length: 0", "Keep-Alive: timeout=5, max=100"),
         persistent: true, kept_for: 5, kept_times: 100
    good "an idle time in capitals, among others", ok("Content-Length: 0", "Keep-Alive: x, TIMEOUT=15 ,max=1"),
         persistent: true, kept_for: 15, kept_times: 1
    good "idle times in two fields", ok("Content-Length: 0", "Keep-Alive: timeout=5, max=3", "Keep-Alive: timeout=7"),
         persistent: true, kept_for: 7, kept_times: 3
    good "idle times that are none", ok("Content-Length: 0", "Keep-Alive: timeout=5s, timeout=-1, timeout=, xtimeout=3"),
         persistent: true, kept_for: nil, kept_times: nil
    good "an idle time of too many digits", ok("Content-Length: 0", "Keep-Alive: timeout=1234567890, max="), kept_for: nil
    good "no idle time at all", ok("Content-Length: 0", "Keep-Alive: timeout=0"), persistent: false, kept_for: 0
    good "no further request", ok("Content-Length: 0", "Keep-Alive: max=0"), persistent: false, kept_times: 0

    # ---- connections that are logged in: RFC 4559 §6
    good "a login is offered", ok("Content-Length: 0", "WWW-Authenticate: Negotiate", status: "401 No"), persistent: false
    good "a login goes on", ok("Content-Length: 0", "WWW-Authenticate: NTLM TlRMTVNTUAAC"), persistent: false
    good "a login among others", ok("Content-Length: 0", "WWW-Authenticate: Basic realm=\"a\",\tNTLM,x"), persistent: false
    good "a login at a proxy", ok("Content-Length: 0", "Proxy-Authenticate: negotiate abc=="), persistent: false
    good "a login that stays", ok("Content-Length: 0", "Persistent-Auth: true"), persistent: false
    good "a login that does not stay", ok("Content-Length: 0", "Persistent-Auth: FALSE"), persistent: true
    good "other schemes", ok("Content-Length: 0", "WWW-Authenticate: Basic realm=\"NTLM\", Negotiated x"), persistent: true

    # ---- ends
    good "closed before the response", "", eof: true, ends: :closed
    bad "an end in the version", "HTTP/1<!>", :truncated_head, eof: true
    bad "an end in the status line", "HTTP/1.1 200 OK<!>", :truncated_head, eof: true
    bad "an end in its line break", "HTTP/1.1 200 OK\r<!>", :truncated_head, eof: true
    bad "an end in a field", "HTTP/1.1 200 OK\r\nContent-Le<!>", :truncated_head, eof: true
    bad "an end before the empty line", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n<!>", :truncated_head, eof: true
    bad "an end in the empty line", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r<!>", :truncated_head, eof: true
    good "a head that isn't complete yet", "HTTP/1.1 200 OK\r\nContent-Le", ends: :more

    # ---- limits
    good "a status line at the limit", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", limits: { start_line: 15 }, status: 200
    bad "a status line over the limit", "HTTP/1.1 200 O<!>K\r\nContent-Length: 0\r\n\r\n", :start_line_limit,
        limits: { start_line: 14 }
    bad "a status line without end", "HTTP/1.1 200 #{"x" * 19}<!>x", :start_line_limit, limits: { start_line: 32 }
    good "a head at the limit", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", limits: { head: 38 }, status: 200
    bad "a head over the limit", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r<!>\n", :head_limit, limits: { head: 37 }
    bad "a head without end", "HTTP/1.1 200 OK\r\nA: #{"x" * 44}<!>xxx", :head_limit, limits: { head: 64 }
    good "as many fields as are allowed", ok("Content-Length: 0", "A: b"), limits: { headers: 2 }, body: ""
    bad "more fields than are allowed", ok("Content-Length: 0", "A: b", "<!>C: d"), :headers_limit, limits: { headers: 2 }
    good "a length at the limit", ok("Content-Length: 5", body: "hello"), limits: { body: 5 }, body: "hello"
    bad "a length over the limit", "#{ok("Content-Length: 6")}<!>hello!", :body_limit, limits: { body: 5 }, status: 200
    good "chunks at the limit", chunked("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), limits: { body: 5 }, body: "abcde"
    bad "chunks over the limit", chunked("3\r\nabc\r\n3\r<!>\ndef\r\n0\r\n\r\n"), :body_limit, limits: { body: 5 }, body: "abc"
    good "until close at the limit", ok(body: "hello"), eof: true, limits: { body: 5 }, body: "hello"
    bad "until close over the limit", ok(body: "hello<!>!"), :body_limit, eof: true, limits: { body: 5 }, body: "hello"
    good "a body without a limit", ok("Content-Length: 99999999999"), limits: { body: nil }, ends: :more, body: ""
    good "extensions at the limit", chunked("1;ab\r\na\r\n0;c\r\n\r\n"), limits: { chunk_extensions: 5 }, body: "a"
    bad "extensions over the limit", chunked("1;ab\r\na\r\n0;c<!>d\r\n\r\n"), :chunk_extensions_limit,
        limits: { chunk_extensions: 5 }, body: "a"
    good "trailers at the limit", chunked("0\r\nA: b\r\n\r\n"), limits: { trailer: 6 }, trailers: [%w[A b]]
    bad "trailers over the limit", chunked("0\r\nA: b\r<!>\n\r\n"), :trailer_limit, limits: { trailer: 5 }
    bad "more trailers than are allowed", chunked("0\r\nA: b\r\n<!>C: d\r\n\r\n"), :headers_limit, limits: { headers: 1 }
  end
end
