# frozen_string_literal: true

require "support/io_cases"

module WireCases
  # What may follow an exchange.
  module Reuse # rubocop:disable Metrics/ModuleLength
    extend IoCases::ClassMethods

    everywhere("request after request") do
      with_wire(ANSWER[OK]) do |wire|
        20.times do
          assert_equal("hello", get(wire).body)
          assert_equal([true, false, false], [wire.reusable?, wire.stale?, wire.closed?])
        end
      end
    end

    def test_a_new_wire
      with_pair do |wire|
        assert_equal([true, false, false, false, false], [wire.reusable?, wire.stale?, wire.closed?, wire.sent?, wire.received?])
        assert_equal([ENDPOINT, nil], [wire.endpoint, wire.phases])
        refute_predicate(wire.io, :closed?)
        assert_includes(wire.inspect, ENDPOINT)
      end
    end

    def test_sent_and_received_are_of_the_last_request
      with_wire(->(peer) { peer.head && peer.say(OK) && peer.head }) do |wire|
        get(wire)
        assert_equal([true, true], [wire.sent?, wire.received?])
        assert_raises(Plait::ConnectionClosed) { get(wire) }
        assert_equal([true, false], [wire.sent?, wire.received?])
      end
      with_wire(ANSWER[OK]) do |wire|
        get(wire)
        assert_predicate(assert_raises(Plait::TimeoutError) { get(wire, deadline: now - 1) }, :retry_safe?)
        assert_equal([false, false], [wire.sent?, wire.received?])
      end
    end

    def test_stale_when_the_peer_has_closed
      %i[close finish reset].each do |ending|
        with_wire(->(peer) { peer.head && peer.say(OK) && peer.public_send(ending) && peer.stall }) do |wire|
          get(wire)
          wait_until { wire.stale? }
          assert_equal([true, true, false, true], [wire.stale?, wire.closed?, wire.reusable?, wire.io.closed?])
          assert_predicate(assert_raises(Plait::ConnectionClosed) { get(wire) }, :retry_safe?)
        end
      end
    end

    def test_stale_when_the_peer_has_sent_what_nobody_asked_for
      with_pair do |wire, peer|
        peer.say(OK)
        get(wire)
        refute_predicate(wire, :stale?)
        peer.say("HTTP/1.1 408 Request Timeout\r\n\r\n")
        assert_equal([true, true], [wire.stale?, wire.closed?], "the next answer would be another request's")
      end
    end

    def test_a_connection_is_not_used_for_longer_than_its_peer_keeps_it
      ways.each do |how, way|
        in_growing_times(1, 10) do |seconds|
          with_wire(ANSWER[OK.sub("\r\n", "\r\nKeep-Alive: timeout=#{seconds}\r\n")]) do |wire|
            way.call(wire)
            assert_predicate(wire, :reusable?, how)
            wait_until { !wire.reusable? }
            assert_equal([true, "hello"], [wire.stale?, get(wire).body], how)
          end
        end
      end
    end

    def test_a_connection_is_not_used_more_often_than_its_peer_takes_requests
      %w[222 919 1-].product(ways.to_a) do |said, (how, way)|
        with_wire(->(peer) { said.each_char { |number| peer.head && peer.say(taking(number)) } && peer.stall }) do |wire|
          usable = said.each_char.map { way.call(wire) && wire.reusable? }
          assert_equal([*[true] * (said.size - 1), false], usable, "#{said} #{how}")
        end
      end
    end

    def test_a_connection_that_a_request_logs_in_has_no_other
      with_wire(ANSWER[OK]) { |wire| assert_equal([true, true], [wire.call(HEAD, nil, 8, PATIENT, nil).ok?, wire.closed?]) }
      with_wire(ANSWER[OK]) do |wire|
        wire.open(HEAD, nil, 8, PATIENT, nil)
        nil while wire.read_piece
        assert_predicate(wire, :closed?)
      end
    end

    # The answer ends where a receive may end, and the rest is still in the kernel.
    def test_what_nobody_asked_for_behind_a_receive_that_was_full
      bytes = "HTTP/1.1 200 OK\r\nContent-Length: 65494\r\n\r\n#{"x" * 65_494}"
      assert_equal(64 * 1024, bytes.bytesize)
      ways.each do |how, way|
        with_pair do |wire, peer|
          peer.say("#{bytes}#{OK}")
          assert_equal(65_494, way.call(wire).body.bytesize)
          assert_equal([false, true], [wire.reusable?, wire.closed?], "the next answer would be another request's (#{how})")
        end
        with_pair do |wire, peer|
          peer.say(bytes)
          2.times { |again| (again.zero? || peer.say(bytes)) && assert_equal([65_494, true], [way.call(wire).body.bytesize, wire.reusable?]) } # rubocop:disable Layout/LineLength
        end
      end
    end

    # The connection that it could tell of may be used by somebody else by now.
    def test_a_refused_use_leaves_the_wire_as_it_was
      with_pair do |wire, peer|
        assert_raises(Plait::UsageError) { wire.read_piece }
        assert_raises(Plait::LocalProtocolError) { wire.get("a", 0, BLOCK, nil, nil) }
        assert_predicate(wire, :reusable?)
        peer.say(OK)
        assert_equal("hello", get(wire).body)
      end
    end

    def test_a_tunnel_is_handed_over_with_what_has_come
      {
        2 => "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nthere",
        4 => "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nthere"
      }.each do |kind, bytes|
        ways_to_tunnel(kind).each do |way|
          with_pair do |wire, peer|
            peer.say(bytes)
            assert_includes([nil, ""], way.call(wire).body)
            assert_equal([false, false], [wire.reusable?, wire.closed?])
            assert_match(/detach/, assert_raises(Plait::UsageError) { get(wire) }.message)
            assert_detached(wire, "there")
          end
        end
      end
    end

    def test_an_idle_connection_is_handed_over_too
      with_wire(ANSWER[OK]) do |wire|
        get(wire)
        assert_detached(wire, "")
      end
    end

    def test_no_upgrade_is_an_answer_as_any_other
      { 4 => OK, 2 => "HTTP/1.1 407 No\r\nContent-Length: 5\r\n\r\nhello" }.each do |kind, bytes|
        with_wire(ANSWER[bytes]) do |wire|
          2.times { assert_equal(["hello", true], [wire.call(HEAD, nil, kind, PATIENT, nil).body, wire.reusable?]) }
        end
      end
    end

    def test_abandoning_leaves_the_connection_to_somebody_else
      with_pair do |wire, peer|
        other = wire.io.dup
        wire.abandon
        assert_equal([true, true], [wire.closed?, wire.io.closed?])
        other.write("still here\r\n\r\n")
        assert_equal("still here\r\n\r\n", peer.head)
      ensure
        other&.close
      end
    end

    def test_a_fork_leaves_the_connection_to_its_parent
      skip("no fork") unless Process.respond_to?(:fork)

      with_pair do |wire, peer|
        told = in_a_fork do
          error = assert_raises(Plait::UsageError) { get(wire) }
          wire.close
          [error.message.include?("parent"), wire.reusable?, wire.stale?, wire.closed?]
        end
        assert_equal([true, false, true, true], told)
        peer.say(OK)
        assert_equal("hello", get(wire).body)
        assert_match(/\AGET /, peer.head)
      end
    end

    private

    def taking(number) = OK.sub("\r\n", "\r\n#{"Keep-Alive: max=#{number}\r\n" unless number == "-"}")

    def ways_to_tunnel(kind)
      [->(wire) { wire.call(HEAD, nil, kind, PATIENT, nil) }, ->(wire) { wire.open(HEAD, nil, kind, PATIENT, nil) }]
    end

    def assert_detached(wire, rest)
      io, found = wire.detach
      assert_equal([rest, Encoding::BINARY, true, false], [found, found.encoding, wire.closed?, wire.reusable?])
      wire.close
      refute_predicate(io, :closed?, "it is somebody else's now")
      assert_raises(Plait::UsageError) { wire.detach }
      assert_raises(Plait::ConnectionClosed) { get(wire) }
    ensure
      io&.close
    end

    # @return [Object] what the block returned in the child
    def in_a_fork
      reader, writer = IO.pipe
      pid = fork do
        writer.write(Marshal.dump(yield))
        writer.flush
      ensure
        exit!(0)
      end
      writer.close
      Process.wait(pid)
      Marshal.load(reader.read)
    ensure
      reader&.close
    end
  end
end
