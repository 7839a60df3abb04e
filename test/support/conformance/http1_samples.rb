# frozen_string_literal: true

# Raw messages of HTTP/1.1 and what a parser must make of them, as data: for the engine, for its twin, and for clients and
# servers built on them (a raw server that sends the responses, a raw client that sends the requests).
module Conformance
  # A message and what is in it, or the rule that it breaks.
  #
  # @!attribute name [String]
  # @!attribute bytes [String] binary
  # @!attribute eof [Boolean] whether the input ends after the bytes
  # @!attribute request [Hash] method: and upgrade: of the request a response belongs to
  # @!attribute expected [Hash] what must hold: status, reason, method, target, version, framing, persistent, headers,
  #   interim (statuses), body, trailers, rest, upgrade, expect_continue, length, ends (:done, :more or :closed)
  # @!attribute rule [Symbol, nil] that is broken
  # @!attribute offset [Integer, nil] where
  # @!attribute limits [Hash]
  HTTP1Sample = Struct.new(:name, :bytes, :eof, :request, :expected, :rule, :offset, :limits, keyword_init: true)

  # How the tables say it.
  class HTTP1Samples
    # Stands before the byte at which the rule is broken.
    MARK = "<!>"

    # @return [Array<HTTP1Sample>]
    attr_reader :all

    def self.table(&block) = new.tap { |samples| samples.instance_eval(&block) }.all.freeze

    def initialize
      @all = []
    end

    # A message that is right.
    def good(name, bytes, eof: false, to: "GET", upgrade: false, limits: {}, **expected)
      add(name, bytes, eof: eof, request: { method: to, upgrade: upgrade }, limits: limits,
                       expected: { ends: :done, rest: "" }.merge(expected))
    end

    # A message that breaks a rule, at the mark.
    def bad(name, bytes, rule, eof: false, to: "GET", upgrade: false, limits: {}, **expected)
      bytes = bytes.b
      offset = bytes.index(MARK) or raise ArgumentError, "#{name}: where?"
      add(name, bytes.sub(MARK, ""), eof: eof, request: { method: to, upgrade: upgrade }, limits: limits,
                                     rule: rule, offset: offset, expected: expected)
    end

    # A response with these field lines.
    def ok(*lines, body: "", status: "200 OK", version: "1.1") = "HTTP/#{version} #{status}\r\n#{fields(lines)}\r\n".b + body.b

    # A chunked response.
    def chunked(body, *lines) = ok("Transfer-Encoding: chunked", *lines, body: body)

    # A request with these field lines.
    def ask(*lines, line: "GET / HTTP/1.1", body: "") = "#{line}\r\n#{fields(lines)}\r\n".b + body.b

    # A POST to a host.
    def post(*lines, body: "") = ask("Host: a", *lines, line: "POST / HTTP/1.1", body: body)

    private

    def fields(lines) = lines.map { |line| "#{line.b}\r\n" }.join

    def add(name, bytes, **details)
      raise ArgumentError, "two samples are named #{name}" if @all.any? { |sample| sample.name == name }

      @all << HTTP1Sample.new(name: name, bytes: bytes.b.freeze, **details).freeze
    end
  end
end
