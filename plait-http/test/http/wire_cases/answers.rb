# frozen_string_literal: true

require "objspace"
require "support/io_cases"

module WireCases
  # What is received as a whole.
  module Answers
    extend IoCases::ClassMethods

    everywhere("answers however they are cut") do
      answers.each do |bytes, body|
        [bytes.size, 1, 7, 1000].each do |size|
          with_wire(->(peer) { 2.times { peer.head && peer.say(bytes, by: size) } && peer.stall }) do |wire|
            ways.each do |how, way|
              response = way.call(wire)
              assert_equal([body, true], [response.body, wire.reusable?], "#{how}, #{bytes[0, 60].inspect} by #{size}")
              assert_equal(bytes.rindex("HTTP/1.1"), bytes.index(response.head_bytes))
            end
          end
        end
      end
    end

    def test_what_a_response_tells
      bytes = "HTTP/1.1 201 So be it\r\nX-A: b\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\xff\x00".b
      with_wire(ANSWER[bytes]) do |wire|
        response = get(wire)
        assert_equal(wire_class.name.sub("Wire", "Response"), response.class.name)
        assert_equal([201, "1.1", "So be it", true], [response.status, response.version, response.reason, response.encoded?])
        assert_equal([bytes[..-3], "\xff\x00".b], [response.head_bytes, response.body])
        assert_equal([Encoding::BINARY] * 2, [response.head_bytes.encoding, response.body.encoding])
        assert_equal([[], "/", nil, nil], [response.trailers, response.url, response.given_request, response.index])
        assert_equal("b", response["x-a"])
        refute_predicate(response.body, :frozen?)
      end
    end

    def test_bodies_that_are_none
      { 1 => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0 => "HTTP/1.1 204 No Content\r\n\r\n" }.each do |kind, bytes|
        with_wire(ANSWER[bytes]) do |wire|
          2.times { assert_equal(["", true], [wire.call(HEAD, nil, kind, PATIENT, nil).body, wire.reusable?]) }
        end
      end
    end

    def test_kinds_are_forgotten
      with_wire(->(peer) { [OK[/.*\r\n\r\n/m], OK].each { |bytes| peer.head && peer.say(bytes) } && peer.stall }) do |wire|
        assert_equal("", wire.call(HEAD, nil, 1, PATIENT, nil).body)
        assert_equal("hello", wire.call(HEAD, nil, 0, PATIENT, nil).body)
      end
    end

    everywhere("long bodies") do
      body = Random.new(2).bytes(5_000_000)
      framed(body).each do |field, parts|
        closing = field.start_with?("Connection")
        script = lambda do |peer|
          while peer.head
            ["HTTP/1.1 200 OK\r\n#{field}\r\n", *parts].each { |part| peer.say(part) }
            break if closing
          end
        end
        ways.each do |how, way|
          with_wire(script) do |wire|
            assert_equal([body.hash, !closing], [way.call(wire).body.hash, wire.reusable?], "#{field} #{how}")
          end
        end
      end
    end

    def test_a_body_takes_no_more_memory_than_it_has_bytes
      skip("only CRuby tells") unless RUBY_ENGINE == "ruby"
      with_wire(ANSWER["HTTP/1.1 200 OK\r\nContent-Length: 700000\r\n\r\n#{"x" * 700_000}"]) do |wire|
        assert_operator(ObjectSpace.memsize_of(get(wire).body), :<, 710_000)
      end
    end

    def test_a_promise_of_much_takes_no_memory
      skip("needs /proc") unless File.exist?("/proc/self/statm")
      with_wire(SAY["HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\nabc"]) do |wire|
        before = resident
        assert_raises(Plait::ReadTimeout) { get(wire, timeouts: Timeouts.new(read: 0.1)) }
        assert_operator(resident - before, :<, 30_000_000)
      end
    end

    # More than is reserved for a body of which nothing has come.
    def test_a_body_beyond_what_is_reserved
      size = (64 << 20) + 12_345
      block = ("x" * (1 << 20)).freeze
      script = lambda do |peer|
        peer.head
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: #{size}\r\n\r\n")
        64.times { peer.say(block) }
        peer.say("#{"y" * 12_338}the end") && peer.stall
      end
      with_wire(script) do |wire|
        body = get(wire).body
        assert_equal([size, "the end", 64 << 20], [body.bytesize, body[-7..], body.count("x")])
      end
    end

    def test_trailers
      with_wire(ANSWER[CHUNKED]) do |wire|
        assert_equal([%w[X-Sum 9]], get(wire).trailers)
        response = opened(wire)
        assert_equal(["hello world", [%w[X-Sum 9]]], [pieces(wire).join, response.trailers])
        assert_predicate(wire, :reusable?)
      end
    end

    def test_durations
      in_growing_times(0.2, 2, 10) do |pause| # for a client that notices late what has come
        script = ->(peer) { peer.head && sleep(pause) && peer.say(OK[0..-2]) && sleep(pause) && peer.say("o") && peer.stall }
        with_wire(script) do |wire|
          sending, first_byte, read = get(wire).durations
          assert_operator(sending, :>=, 0)
          assert_operator(first_byte, :>=, 0.05)
          assert_operator(read, :>=, 0.05)
        end
      end
    end

    def test_the_first_response_tells_how_long_connecting_took
      phases = Plait.const_get(:Io)::Connector::Phases.new(0.1, 0.2, nil)
      with_wire(ANSWER[OK], phases: phases) do |wire|
        assert_same(phases, wire.phases)
        assert_equal([phases, nil], [get(wire).phases, get(wire).phases])
      end
    end

    private

    # @return [Hash{String => String}] bytes => the body in them
    def answers
      {
        OK => "hello", CHUNKED => "hello world",
        "HTTP/1.1 204 No Content\r\n\r\n" => "",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n" => "",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n#{OK}" => "hello",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" => "",
        "HTTP/1.1 200 OK\r\nX: #{"x" * 5_000}\r\nContent-Length: 5\r\n\r\nhello" => "hello"
      }
    end

    # @return [Hash{String => Array<String>}] a field => the body as it is sent then
    def framed(body)
      chunks = body.scan(/.{1,100000}/mn).flat_map { |chunk| ["#{chunk.bytesize.to_s(16)}\r\n", chunk, "\r\n"] }
      {
        "Content-Length: #{body.bytesize}\r\n" => [body], "Connection: close\r\n" => [body],
        "Transfer-Encoding: chunked\r\n" => [*chunks, "0\r\n\r\n"]
      }
    end
  end
end
