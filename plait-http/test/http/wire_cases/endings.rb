# frozen_string_literal: true

require "support/io_cases"

module WireCases
  # Connections that end, break, or say what nobody can understand.
  module Endings
    extend IoCases::ClassMethods

    CLOSE_DELIMITED = "HTTP/1.1 200 OK\r\n\r\nhello"

    # Each prefix of an answer, delivered whole and then ended: with `cut` by the end of the input, else by a reset.
    everywhere("nothing truncated is a success") do
      [OK, CHUNKED, "HTTP/1.1 100 Continue\r\n\r\n#{OK}"].each do |bytes|
        (0...bytes.bytesize).each { |size| ways.each_value { |way| assert_truncated(bytes[0, size], way) } }
      end
    end

    def test_nothing_truncated_is_a_success_in_the_middle_of_a_long_body
      bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n#{"x" * 8_999_999}"
      ways.each_value do |way|
        with_wire(->(peer) { peer.head && peer.say(bytes) }) do |wire|
          error = assert_raises(Plait::TruncatedError) { way.call(wire) }
          assert_equal([:truncated_length, true], [error.rule, wire.closed?])
        end
      end
    end

    def test_a_reset_is_not_the_end_of_a_body
      [OK, CHUNKED, "#{CLOSE_DELIMITED}, and more"].each do |bytes|
        ways.each_value do |way|
          with_wire(->(peer) { peer.head && peer.say(bytes[..-2]) && sleep(0.01) && peer.reset }) do |wire|
            assert_raises(Plait::ConnectionClosed, Plait::TruncatedError) { way.call(wire) }
            assert_predicate(wire, :closed?)
          end
        end
      end
    end

    everywhere("an end or a reset before the answer") do
      %i[close reset].each do |ending|
        with_wire(->(peer) { peer.head && peer.public_send(ending) }) do |wire|
          error = assert_raises(Plait::ConnectionClosed) { get(wire) }
          assert_equal([false, ENDPOINT], [error.retry_safe?, error.endpoint])
          assert_equal([true, false, true, false], [wire.sent?, wire.received?, wire.closed?, wire.reusable?])
          assert_includes(error.message, ENDPOINT)
          assert_predicate(wire.io, :closed?)
        end
      end
    end

    def test_a_connection_that_was_closed_before_the_request
      with_pair do |wire, peer|
        peer.close
        error = assert_raises(Plait::ConnectionClosed) { get(wire) }
        assert_equal([true, false, true, false], [error.retry_safe?, wire.sent?, wire.closed?, wire.received?])
      end
    end

    def test_a_closed_wire_takes_nothing
      with_wire(ANSWER[OK]) do |wire|
        get(wire)
        2.times { wire.close }
        assert_equal([true, true, false], [wire.closed?, wire.io.closed?, wire.reusable?])
        assert_equal(true, wire.stale?)
        [-> { get(wire) }, -> { opened(wire) }, -> { wire.call(HEAD, nil, 0, nil, nil) }, -> { wire.resume("") }].each do |use|
          error = assert_raises(Plait::ConnectionClosed, &use)
          assert_equal([true, ENDPOINT], [error.retry_safe?, error.endpoint])
        end
      end
    end

    # What is broken may complain: nobody wants to hear it. Anything else comes from outside, as by Thread#raise.
    def test_what_comes_from_outside_while_a_wire_is_closed_is_not_lost
      { RuntimeError => true, Interrupt => true, IOError => false, Errno::EIO => false }.each do |error, told|
        with_pair do |wire, _|
          disturb(wire.io, error)
          told ? assert_raises(error) { wire.close } : wire.close
          assert_equal([true, true], [wire.closed?, wire.io.closed?])
        end
      end
    end

    def test_an_answer_before_the_request
      with_pair do |wire, peer|
        peer.say("HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno")
        peer.close
        response = get(wire)
        assert_equal([503, "no", true], [response.status, response.body, wire.closed?])
      end
    end

    def test_the_end_of_the_input_is_the_end_of_a_body_without_a_length
      ways.each_value do |way|
        with_wire(->(peer) { peer.head && peer.say(CLOSE_DELIMITED, by: 1) && peer.finish && peer.stall }) do |wire|
          assert_equal("hello", way.call(wire).body)
          assert_equal([false, true, true], [wire.reusable?, wire.closed?, wire.io.closed?])
        end
      end
    end

    def test_the_offset_of_an_error_counts_from_the_beginning_of_the_message
      head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      ways.each_value do |way|
        with_wire(SAY["#{head}5\r\nhello\r\nxyz", by: 3]) do |wire|
          error = assert_raises(Plait::RemoteProtocolError) { way.call(wire) }
          assert_equal([:chunk_size, head.size + 10], [error.rule, error.offset])
          assert_includes(error.message, ENDPOINT)
          assert_equal([true, true], [wire.closed?, wire.received?])
        end
      end
    end

    def test_what_ends_a_connection_politely
      {
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello" => "the peer wishes it",
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello" => "HTTP/1.0",
        "#{OK}x" => "left over", "#{OK}#{OK}" => "an answer that nobody asked for",
        "#{CHUNKED}HTTP/1.1 200 OK\r\n" => "left over behind chunks"
      }.each do |bytes, why|
        ways.each_value do |way|
          with_wire(SAY[bytes]) do |wire|
            assert_match(/\Ahello/, way.call(wire).body)
            assert_equal([false, true, true], [wire.reusable?, wire.closed?, wire.io.closed?], why)
            assert_predicate(assert_raises(Plait::ConnectionClosed) { get(wire) }, :retry_safe?)
          end
        end
      end
    end

    everywhere("TLS the reason of a failure behind data") do
      half = "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n#{"x" * 9000}"
      reset = ->(io) { io.setsockopt(Socket::Option.linger(true, 0)) && io.close }
      garbage = ->(io) { io.write("\x17\x03\x03\x00\x20#{"z" * 32}") }
      { reset => /reset/i, garbage => /record|mac/i }.each do |break_off, reason|
        with_tls_wire(->(peer) { peer.head && peer.say(half) && break_off.call(peer.socket.to_io) }) do |wire|
          assert_match(reason, assert_raises(Plait::Error) { get(wire) }.message)
        end
      end
    end

    private

    def disturb(socket, error)
      socket.define_singleton_method(:close) do
        super()
        raise error, "from outside"
      end
    end

    def assert_truncated(bytes, way)
      with_pair do |wire, peer|
        peer.say(bytes)
        peer.finish
        error = assert_raises(Plait::TruncatedError, Plait::ConnectionClosed, bytes.inspect) { way.call(wire) }
        assert_kind_of(bytes.empty? ? Plait::ConnectionClosed : Plait::TruncatedError, error)
        assert_includes(error.message, ENDPOINT)
        assert_predicate(wire, :closed?)
      end
    end
  end
end
