# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/suites/http/origin"
require "plait/suites/http/origin/server"

class OriginRequestTest < Minitest::Test
  Request = Plait::Suites::Origin::Request

  def test_takes_one_request_and_leaves_the_rest
    buffer = +"GET /a?latency=0.5&row=r1 HTTP/1.1\r\nHost: x\r\n\r\nGET /b"
    request = Request.take(buffer)
    assert_equal ["GET", "/a?latency=0.5&row=r1", "/a", 0.5, "r1", 0],
                 [request.verb, request.target, request.path, request.latency, request.row, request.body_bytes]
    assert_equal "GET /b", buffer
    assert_nil Request.take(buffer)
  end

  def test_an_end_that_arrives_in_pieces
    head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    (1...head.bytesize).each do |cut|
      buffer = head.byteslice(0, cut).b
      assert_nil Request.take(buffer)
      buffer << head.byteslice(cut..)
      assert_equal "/", Request.take(buffer, cut).target
    end
  end

  def test_keep_alive
    { "HTTP/1.1\r\n" => true, "HTTP/1.1\r\nConnection: close\r\n" => false,
      "HTTP/1.1\r\nconnection: Close\r\n" => false,
      "HTTP/1.0\r\n" => false, "HTTP/1.0\r\nConnection: Keep-Alive\r\n" => true,
      "HTTP/1.1\r\nConnection: keep-alive\r\n" => true }.each do |rest, kept|
      assert_equal kept, Request.take("GET / #{rest}\r\n".b).keep_alive?, rest
    end
  end

  def test_length_of_the_body
    assert_equal 12, Request.take("POST / HTTP/1.1\r\ncontent-length:  12 \r\n\r\n".b).body_bytes
    assert_equal 3, Request.take("POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n".b).body_bytes
    assert_malformed "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", "400 Bad Request"
    assert_malformed "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "413 Content Too Large"
  end

  # Whatever comes, it is a request, not enough, or malformed.
  def test_random_changes_of_a_request
    random = Random.new(7)
    3_000.times do
      bytes = "GET /bytes/612?id=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".b
      random.rand(1..4).times { bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) }
      outcome = begin
        Request.take(bytes)
      rescue Request::Malformed => e
        e
      end
      assert_includes [Request, Request::Malformed, NilClass], outcome.class
    end
  end

  private

  def assert_malformed(bytes, status)
    assert_equal status, assert_raises(Request::Malformed) { Request.take(bytes.b) }.status
  end
end
