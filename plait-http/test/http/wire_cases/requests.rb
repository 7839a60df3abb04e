# frozen_string_literal: true

require "support/io_cases"

module WireCases
  # What is sent.
  module Requests
    extend IoCases::ClassMethods

    TARGETS = {
      "http://origin/a?b=c" => "/a?b=c", "http://origin" => "/", "http://origin?q" => "/?q", "http://origin#f" => "/",
      "http://origin/a#f?g" => "/a", "http://origin?q#f" => "/?q", "http://origin/#{"p" * 100_000}" => "/#{"p" * 100_000}"
    }.freeze
    NO_TARGETS = ["/a b", "/a\r\nX: y", "/a\nb", "/\u00fc", "/\xfc", "/a\0", "a", "?a b", "*", "/\x7f"].freeze
    ECHO = lambda do |peer|
      while (head = peer.head)
        body = peer.read(head[/Content-Length: (\d+)/, 1].to_i)
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
      end
    end

    def test_a_get_is_put_together
      asked = Queue.new
      with_wire(->(peer) { peer.say(OK) while asked << (peer.head || break) }) do |wire|
        TARGETS.each do |url, target|
          response = wire.get(url, "http://origin".bytesize, BLOCK, PATIENT, nil)
          assert_equal(["hello", url], [response.body, response.url])
          assert_equal("GET #{target} HTTP/1.1\r\n#{BLOCK}\r\n", asked.pop)
        end
      end
    end

    def test_a_response_keeps_its_url_whatever_becomes_of_the_string
      with_wire(ANSWER[OK]) do |wire|
        ["http://origin/", "http://origin/#\u00e9", "http://origin/".encode("US-ASCII").freeze].each do |text|
          url = text.frozen? ? text : text.dup
          responses = Array.new(2) { wire.get(url, 13, BLOCK, PATIENT, nil) }
          url.replace("http://other/") unless text.frozen?
          responses.each { |response| 2.times { assert_equal([text, text.encoding], [response.url, response.url.encoding]) } }
          responses[0].url << "x" unless responses[0].url.frozen?
          assert_equal(text, responses[1].url)
        end
      end
    end

    def test_what_can_not_be_a_target_is_refused_and_nothing_is_sent
      with_pair do |wire, peer|
        NO_TARGETS.each do |target|
          error = assert_raises(Plait::LocalProtocolError, target.inspect) { wire.get(target, 0, BLOCK, PATIENT, nil) }
          assert_includes(error.message, "target")
          assert_equal(:target, error.rule)
        end
        assert_raises(ArgumentError) { wire.get("/", 2, BLOCK, PATIENT, nil) }
        assert_equal([:wait_readable, true], [peer.socket.read_nonblock(1, exception: false), wire.reusable?])
      end
    end

    def test_timeouts_and_limits_are_optional
      with_wire(ANSWER[OK]) { |wire| assert_equal("hello", wire.get("/", 0, BLOCK, nil, nil).body) }
    end

    everywhere("bodies of every kind arrive") do
      large = Random.new(1).bytes(3_000_000)
      {
        "small" => "small", "" => "", large => large, "none" => %w[no ne].each, "ab" => ["a", "", "b"],
        large.reverse => large.reverse.scan(/.{1,70000}/mn), "h\u00e9\u00ff".b => "h\u00e9\u00ff",
        "a\u00e9".b => ["a", "\u00e9"]
      }.each do |body, given|
        with_wire(ECHO) do |wire|
          2.times do
            response = post(wire, given, size: body.bytesize)
            assert_equal(body.hash, response.body.hash, "#{body.bytesize} bytes as #{given.class}")
            assert_predicate(wire, :reusable?)
          end
        end
      end
    end

    # As IO#read(size, buffer) would.
    def test_pieces_that_are_always_the_same_string
      buffer = +""
      body = Enumerator.new { |to| 200.times { |i| to << buffer.replace(i.to_s * 9000) } }
      whole = Array.new(200) { |i| i.to_s * 9000 }.join
      with_wire(ECHO) { |wire| assert_equal(whole.hash, post(wire, body, size: whole.bytesize).body.hash) }
    end

    def test_what_a_body_raises_closes_the_wire
      { RuntimeError => Enumerator.new { |to| (to << "a") && raise("no more") }, TypeError => [1] }.each do |kind, body|
        with_wire(STALL) do |wire|
          assert_raises(kind) { post(wire, body, size: 9) }
          assert_predicate(wire, :closed?)
        end
      end
    end

    # It may come from another server, whose error this is.
    def test_what_a_body_raises_is_not_said_of_this_peer
      foreign = Plait::TruncatedError.new("tcp://other:80: cut", rule: :truncated_length)
      with_wire(STALL) do |wire|
        error = assert_raises(Plait::TruncatedError) { post(wire, Enumerator.new { raise foreign }, size: 9) }
        assert_same(foreign, error)
        assert_predicate(wire, :closed?)
      end
    end

    def test_leaving_a_body_closes_the_wire
      with_wire(STALL) do |wire|
        assert_equal(1, catch(:out) { post(wire, Enumerator.new { throw(:out, 1) }, size: 9) })
        assert_predicate(wire, :closed?)
      end
    end

    def test_a_body_can_not_use_its_own_wire
      with_wire(ECHO) do |wire|
        body = Enumerator.new do |to|
          assert_raises(Plait::UsageError) { get(wire) }
          to << "body"
        end
        assert_equal("body", post(wire, body, size: 4).body)
        assert_predicate(wire, :reusable?)
      end
    end
  end
end
