# frozen_string_literal: true

module Conformance
  # Answers that break a rule and that curl reads all the same.
  # @!attribute fields [Hash{String => String}] some of those that a caller sees
  # @!attribute curl [Boolean] whether curl gives out the same body
  LenientSample = Struct.new(:name, :bytes, :fields, :body, :curl, keyword_init: true) do
    def initialize(fields: {}, body: "hello", curl: true, **rest) = super
  end

  # A head that ends by itself, and a body of five bytes.
  HELLO = "Content-Length: 5\r\n\r\nhello"
  MANY = Array.new(200) { |number| "X-#{number}: #{number}\r\n" }.join
  LONG = Array.new(20) { |number| "X-#{number}: #{"x" * 5000}\r\n" }.join

  HTTP1_LENIENT = {
    "lines that end with LF" => ["HTTP/1.1 200 OK\nX: 1\nContent-Length: 5\n\nhello", { "x" => "1" }],
    "one line that ends with LF" => ["HTTP/1.1 200 OK\r\nX: 1\n#{HELLO}", { "x" => "1" }],
    "a folded value" => ["HTTP/1.1 200 OK\r\nX: one\r\n two\r\n\tthree\r\n#{HELLO}", { "x" => "one two three" }],
    "an empty fold" => ["HTTP/1.1 200 OK\r\nX: one\r\n \r\n#{HELLO}", { "x" => "one" }],
    "a blank before a colon" => ["HTTP/1.1 200 OK\r\nX \t: 1\r\n#{HELLO}", { "x" => "1" }],
    "a blank before the colon of a length" => ["HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", {}],
    "a control byte in a value" => ["HTTP/1.1 200 OK\r\nX: a\x01b\x7f\r\n#{HELLO}", { "x" => "a b" }],
    "a control byte in the reason" => ["HTTP/1.1 200 O\x02K\r\n#{HELLO}", {}],
    "identity and a length" => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n#{HELLO}", {}],
    "identity until the end" => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhello", {}],
    "chunked and a length" => [
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", {}
    ],
    "a length and chunked" => [
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n", {}
    ],
    "blanks behind a chunk size" => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 \t\r\nhello\r\n0 \r\n\r\n", {}],
    "chunk lines that end with LF" => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n", {}],
    "an interim head, then lines with LF" => [
      "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\nX: 1\nContent-Length: 5\n\nhello", { "x" => "1" }
    ],
    "two heads with LF" => ["HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nX: 1\nContent-Length: 5\n\nhello", { "x" => "1" }],
    "200 fields" => ["HTTP/1.1 200 OK\r\n#{MANY}#{HELLO}", { "x-199" => "199" }],
    "a head of 100 kB" => ["HTTP/1.1 200 OK\r\n#{LONG}#{HELLO}", { "x-19" => "x" * 5000 }],
    "a folded head of several errors" => [
      "HTTP/1.1 200 OK\nX : a\x01\n  b\nTransfer-Encoding: identity, chunked\nContent-Length: 9\n\n5\nhello\n0\n\n",
      { "x" => "a  b" }
    ]
  }.map { |name, (bytes, fields)| LenientSample.new(name: name, bytes: bytes.b, fields: fields) }.freeze

  # What no reader may guess about: name => [bytes, rule].
  HTTP1_REFUSED = {
    "lengths that differ" => ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
                              :content_length_conflict],
    "lengths that differ, and chunked" => [
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n", :two_lengths
    ],
    "a length with a sign" => ["HTTP/1.1 200 OK\nContent-Length: +5\n\nhello", :content_length],
    "a length that is folded" => ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n 6\r\n\r\nhello", :content_length],
    "chunked that is not last" => ["HTTP/1.1 200 OK\nTransfer-Encoding: chunked, gzip\n\n0\r\n\r\n", :chunked_not_last],
    "another coding" => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", :transfer_coding],
    "a bare CR" => ["HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", :bare_cr],
    "a bare CR among lines with LF" => ["HTTP/1.1 200 OK\nX: a\rb\n\n", :bare_lf],
    "NUL" => ["HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", :control],
    "a fold before the first field" => ["HTTP/1.1 200 OK\n X: 1\nContent-Length: 0\n\n", :bare_lf],
    "a chunk size that is none" => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5x\r\nhello\r\n0\r\n\r\n", :chunk_size],
    "a chunk size with a blank inside" => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 0\r\nhello\r\n0\r\n\r\n",
                                           :chunk_extension],
    "no colon" => ["HTTP/1.1 200 OK\nX\n\n", :no_colon]
  }.transform_values { |bytes, rule| [bytes.b, rule] }.freeze
end
