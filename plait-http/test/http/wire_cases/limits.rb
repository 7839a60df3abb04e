# frozen_string_literal: true

module WireCases
  # Answers that are too large.
  module Limits
    SMALL = Plait.const_get(:Protocols)::HTTP1::Limits.new(body: 4, headers: 200, head: 10_000, interim: 3, trailer: 20)
    TOO_LARGE = {
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" => :body,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" => :body,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n#{"2\r\nhe\r\n" * 3}0\r\n\r\n" => :body,
      "HTTP/1.1 200 OK\r\n\r\nhello" => :body,
      "HTTP/1.1 200 OK\r\n#{"a: b\r\n" * 201}\r\n" => :headers,
      "HTTP/1.1 200 OK\r\nX: #{"x" * 10_000}" => :head,
      "HTTP/1.1 103 Early Hints\r\n\r\n" * 4 => :interim,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: 1234567890\r\n\r\n" => :trailer
    }.freeze

    def test_limits_are_named
      TOO_LARGE.each do |bytes, limit|
        ways.each do |how, way|
          with_wire(SAY[bytes], limits: SMALL) do |wire|
            error = assert_raises(Plait::LimitExceeded, "#{how} #{bytes[0, 60].inspect}") { way.call(wire) }
            assert_equal([limit, true], [error.limit, wire.closed?])
            assert_includes(error.message, "limits: {#{limit}: …}")
          end
        end
      end
    end

    def test_what_is_within_the_limits
      bytes = "HTTP/1.1 200 OK\r\n#{"a: b\r\n" * 190}Content-Length: 4\r\n\r\nhey!"
      with_wire(ANSWER[bytes], limits: SMALL) { |wire| 2.times { assert_equal("hey!", get(wire).body) } }
    end

    def test_an_endless_head_and_an_endless_body
      limits = Plait.const_get(:Protocols)::HTTP1::Limits.new(body: 10_000_000)
      {
        "HTTP/1.1 200 OK\r\n" => "X-Endless: #{"x" * 1000}\r\n",
        "HTTP/1.1 200 OK\r\n\r\n" => "y" * 100_000
      }.each do |first, again|
        with_wire(->(peer) { peer.head && peer.say(first) && loop { peer.say(again) } }, limits: limits) do |wire|
          assert_raises(Plait::LimitExceeded) { get(wire) }
          assert_predicate(wire, :closed?)
        end
      end
    end
  end
end
