# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "transcript"

class HTTP1SerializerTest < Minitest::Test
  Serializer = Plait.const_get(:Protocols)::HTTP1::Serializer

  def test_a_request
    head = Serializer.request("POST", "/a?b=c", [%w[Host a], ["X-Empty", ""], ["Content-Length", 5]])
    assert_equal("POST /a?b=c HTTP/1.1\r\nHost: a\r\nX-Empty: \r\nContent-Length: 5\r\n\r\n", head)
    assert_equal(Encoding::BINARY, head.encoding)
  end

  def test_a_response
    assert_equal("HTTP/1.1 404 Not Found\r\nA: café\r\n\r\n".b, Serializer.response(404, "Not Found", { "A" => "café" }))
    assert_equal("HTTP/1.1 200 \r\n\r\n", Serializer.response(200, "", []))
  end

  def test_chunks
    assert_equal("1a\r\n#{"é" * 13}\r\n".b, Serializer.chunk("é" * 13))
    assert_equal("0\r\n\r\n", Serializer.last_chunk)
    assert_equal("0\r\nDigest: x\r\n\r\n", Serializer.last_chunk([%w[Digest x]]))
    assert_match(/empty chunk/, assert_raises(Plait::LocalProtocolError) { Serializer.chunk("") }.message)
  end

  def test_what_it_writes_can_be_parsed
    bytes = Serializer.response(200, "OK", [["Transfer-Encoding", "chunked"]]) + Serializer.chunk("hello") +
            Serializer.last_chunk([%w[A b]])
    Transcript::ENGINES.each_key do |engine|
      transcript = Transcript.of(engine, [bytes])
      assert_equal([[:data, "hello"], [:trailers, [%w[A b]]], [:done]], transcript[:events].drop(1))
    end
  end

  def test_no_line_break_gets_into_a_field
    ["a\r\nb", "a\nb", "a\rb", "a\0b", "a\x7Fb", " a", "a\t"].each { |value| refused(:field_value, [["A", value]]) }
    ["A\r\nB", "A:", "A ", "Ä"].each { |name| refused(:field_name, [[name, "b"]]) }
    refused(:empty_name, [["", "b"]])
  end

  def test_no_message_whose_end_is_unclear
    refused(:two_lengths, [%w[Content-Length 5], %w[transfer-encoding chunked]])
    refused(:content_length_conflict, [%w[Content-Length 5], %w[content-length 6]])
    refused(:content_length, [%w[Content-Length -5]])
  end

  def test_one_host
    refused_request(:no_host, "GET", "/", [])
    refused_request(:two_hosts, "GET", "/", [%w[Host a], %w[host b]])
    refused_request(:host, "GET", "/", [["Host", "a b"]])
  end

  def test_request_lines
    refused_request(:method, "GET /x HTTP/1.1\r\nA:", "/")
    refused_request(:method, "", "/")
    refused_request(:target, "GET", "/ HTTP/1.1\r\nA: b")
    refused_request(:target, "GET", "/caf\u00e9")
    refused_request(:target_form, "GET", "*")
    refused_request(:target_form, "CONNECT", "/")
  end

  def test_status_lines
    [99, 1000, "200", nil].each do |status|
      assert_equal(:status, assert_raises(Plait::LocalProtocolError) { Serializer.response(status, "", []) }.rule)
    end
    assert_raises(Plait::LocalProtocolError) { Serializer.response(200, "OK\r\nA: b", []) }
  end

  def test_errors_speak
    error = assert_raises(Plait::LocalProtocolError) { Serializer.response(200, "", [["A", "b\r\nc"]]) }
    assert_equal("not sent, for it would be broken HTTP/1.1: a field value with CR, LF, NUL or another control byte " \
                 "(RFC 9110 §5.5): \"A: b\\r\\nc\"", error.message)
  end

  private

  def refused(rule, fields)
    assert_equal(rule, assert_raises(Plait::LocalProtocolError) { Serializer.response(200, "", fields) }.rule)
  end

  def refused_request(rule, method, target, fields = [%w[Host a]])
    assert_equal(rule, assert_raises(Plait::LocalProtocolError) { Serializer.request(method, target, fields) }.rule)
  end
end
