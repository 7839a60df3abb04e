# frozen_string_literal: true

require "support/io_cases"

module WireCases
  # Answers that come before all of the request was sent.
  module EarlyAnswers
    extend IoCases::ClassMethods

    everywhere("a refusal that comes early is returned") do
      refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"
      [:close.to_proc, STALL].each do |afterwards|
        ["x" * 20_000_000, Enumerator.new { |to| loop { to << ("x" * 50_000) } }].each do |body|
          with_wire(->(peer) { peer.head && peer.say(refusal) && afterwards.call(peer) }) do |wire|
            response = post(wire, body, size: 20_000_000)
            assert_equal([413, "big", true], [response.status, response.body, wire.closed?])
          end
        end
      end
    end

    # A peer that takes all that comes never lets us wait.
    everywhere("a refusal that comes early ends a body in slow pieces") do
      refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"
      with_wire(->(peer) { peer.head && peer.say(refusal) && peer.stall }) do |wire|
        body = Enumerator.new { |to| loop { (to << ("x" * 100)) && sleep(0.005) } }
        response = post(wire, body, size: 1 << 40)
        assert_equal([413, "big", true], [response.status, response.body, wire.closed?])
      end
    end

    # An echo, say: that there is an answer does not mean that the rest is not wanted.
    everywhere("a success that comes early does not end the sending") do
      body = Random.new(3).bytes(6_000_000)
      with_wire(echo(body.bytesize, pieces: 100)) do |wire|
        assert_equal([body.hash, true], [post(wire, body).body.hash, wire.reusable?])
      end
    end

    # More than the kernel's buffers of both ends hold, so that each has to take what comes to be able to go on.
    everywhere("an echo is as long as the client allows") do
      body = Random.new(4).bytes(16_000_000)
      with_wire(echo(body.bytesize, pieces: 160)) do |wire|
        %i[SNDBUF RCVBUF].each { |name| wire.io.to_io.setsockopt(:SOCKET, name, 65_536) }
        assert_equal([body.hash, true], [post(wire, body).body.hash, wire.reusable?])
      end
    end

    # What it says is for later, and no more of it is kept until then than of any answer.
    def test_a_peer_that_talks_instead_of_listening
      skip("needs /proc") unless File.exist?("/proc/self/statm")
      block = ("x" * 1_000_000).freeze
      script = ->(peer) { peer.head && peer.say("HTTP/1.1 200 OK\r\n\r\n") && 200.times { peer.say(block) } }
      with_wire(script, limits: Plait.const_get(:Protocols)::HTTP1::Limits.new(body: 10_000_000)) do |wire|
        before = resident
        assert_raises(Plait::WriteTimeout) { post(wire, "x" * 20_000_000, timeouts: Timeouts.new(read: 0.5)) }
        assert_operator(resident - before, :<, 80_000_000)
      end
    end

    def test_interim_answers_while_the_body_is_sent
      script = lambda do |peer|
        peer.head && peer.say("HTTP/1.1 100 Continue\r\n\r\n")
        peer.read(20_000_000) && peer.say(OK) && peer.stall
      end
      with_wire(script) do |wire|
        assert_equal("hello", post(wire, "x" * 20_000_000).body)
        assert_predicate(wire, :reusable?)
      end
    end

    everywhere("expect continue") do
      with_wire(method(:continue)) do |wire|
        %w[/ /silent /].each do |target|
          assert_nil(wire.expect_continue(expecting(target), 0, PATIENT, nil))
          refute_predicate(wire, :reusable?)
          assert_match(/resume/, assert_raises(Plait::UsageError) { get(wire) }.message)
          assert_equal(["abc", true], [wire.resume(%w[a b c]).body, wire.reusable?])
        end
      end
    end

    # It is there before the client asks, who waits for a second only.
    everywhere("expect continue refused") do
      with_pair do |wire, peer|
        peer.say("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")
        refused = wire.expect_continue(expecting("/no"), 0, PATIENT, nil)
        assert_equal([417, true], [refused.status, wire.closed?])
      end
    end

    # Other interim answers are no leave to go on.
    def test_expect_continue_waits_for_the_right_interim_answer
      asked = early = nil
      script = lambda do |peer|
        peer.head && peer.say("HTTP/1.1 103 Early Hints\r\n\r\n")
        early = now - asked if peer.socket.wait_readable(0.3)
        peer.say("HTTP/1.1 100 Continue\r\n\r\n") && peer.read(3) && peer.say(OK) && peer.stall
      end
      with_wire(script) do |wire|
        asked = now
        assert_nil(wire.expect_continue(expecting("/"), 0, PATIENT, nil))
        assert_equal("hello", wire.resume("abc").body)
        # After a second the body comes anyway.
        assert(early.nil? || early > 0.9, "the body came after #{early} s")
      end
    end

    # Its second part is longer than what is read at once: no event of the socket tells of the rest, which libssl has.
    everywhere("TLS an early refusal in two records") do
      done = Queue.new
      script = lambda do |peer|
        peer.head && peer.say("HTTP/1.1 413 Too large\r\n")
        sleep(0.1) # for the first part to be read alone
        peer.say("X-Pad: #{"p" * 6000}\r\nContent-Length: 0\r\n\r\n")
        done.pop
      end
      with_tls_wire(script) do |wire|
        assert_equal(413, post(wire, "x" * 20_000_000, timeouts: Timeouts.new(write: 20)).status)
      ensure
        done << true
      end
    end

    private

    # A peer that sends back what has come of the body, a piece at a time.
    def echo(size, pieces:)
      lambda do |peer|
        peer.head
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: #{size}\r\n\r\n")
        pieces.times { peer.say(peer.read(size / pieces)) }
        peer.stall
      end
    end

    def expecting(target) = "POST #{target} HTTP/1.1\r\nHost: origin\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"

    def continue(peer)
      while (head = peer.head)
        peer.say("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n") unless head.include?("/silent")
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n#{peer.read(3)}")
      end
    end
  end
end
