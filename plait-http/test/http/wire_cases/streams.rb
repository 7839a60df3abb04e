# frozen_string_literal: true

require "support/io_cases"

module WireCases
  # Bodies that are read piece by piece.
  module Streams
    extend IoCases::ClassMethods

    MEGABYTE = ("m" * (1 << 20)).freeze

    { length: "Content-Length: #{100 << 20}\r\n", chunked: "Transfer-Encoding: chunked\r\n", close: "" }.each do |framing, field|
      define_method("test_100_mib_in_bounded_memory_#{framing}") do
        before = File.exist?("/proc/self/statm") ? resident : nil
        with_wire(->(peer) { hundred_megabytes(peer, field) }) do |wire|
          opened(wire)
          assert_equal(100 << 20, drain(wire) { before && assert_operator(retained - before, :<, 50 << 20) })
          assert_equal(framing != :close, wire.reusable?)
          assert_nil(wire.read_piece)
        end
      end
    end

    def test_pieces_are_binary_and_not_too_long
      chunks = "c0000\r\n#{"x" * 0xc0000}\r\n" * 3
      with_wire(ANSWER["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n#{chunks}0\r\n\r\n"]) do |wire|
        opened(wire)
        found = pieces(wire)
        assert_operator(found.map(&:bytesize).max, :<=, 64 * 1024)
        assert_equal([Encoding::BINARY], found.map(&:encoding).uniq)
        refute(found.any?(&:empty?))
        assert_equal(3 * 0xc0000, found.sum(&:bytesize))
      end
    end

    # Whoever waits for events on a stream wants each when it comes.
    everywhere("a piece is there when it has come") do
      go = Queue.new
      script = lambda do |peer|
        peer.head
        peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        3.times { |i| go.pop && peer.say("1\r\n#{i}\r\n") }
        peer.say("0\r\n\r\n") && peer.stall
      end
      with_wire(script) do |wire|
        opened(wire)
        3.times { |i| (go << true) && assert_equal(i.to_s, wire.read_piece) }
        assert_nil(wire.read_piece)
      end
    end

    def test_a_response_that_is_streamed_has_no_body_of_its_own
      with_wire(ANSWER[OK]) do |wire|
        response = opened(wire)
        assert_nil(response.body)
        assert_equal(["hello"], pieces(wire))
        assert_nil(response.body)
        assert_operator(response.durations.last, :>=, 0)
      end
    end

    def test_streams_without_a_body_are_over_at_once
      ["HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"].each do |bytes|
        with_wire(ANSWER[bytes]) do |wire|
          2.times do
            opened(wire)
            assert_predicate(wire, :reusable?)
            2.times { assert_nil(wire.read_piece) }
          end
        end
      end
    end

    def test_a_body_that_is_not_read_blocks_the_next_request
      with_wire(ANSWER[CHUNKED]) do |wire|
        opened(wire)
        refute_predicate(wire, :reusable?)
        assert_predicate(wire, :stale?)
        assert_match(/not read/, assert_raises(Plait::UsageError) { get(wire) }.message)
        assert_raises(Plait::UsageError) { wire.detach }
        assert_equal("hello world", pieces(wire).join, "nothing was lost")
        assert_equal("hello world", get(wire).body)
      end
    end

    def test_there_is_no_piece_without_a_stream
      with_wire(ANSWER[OK]) do |wire|
        2.times do
          assert_match(/call open/, assert_raises(Plait::UsageError) { wire.read_piece }.message)
          assert_equal("hello", get(wire).body)
        end
      end
    end

    def test_a_stream_that_is_dropped
      with_wire(SAY["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"]) do |wire|
        opened(wire)
        wire.close
        assert_raises(Plait::ConnectionClosed) { wire.read_piece }
      end
    end

    private

    def hundred_megabytes(peer, field)
      peer.head
      peer.say("HTTP/1.1 200 OK\r\n#{field}\r\n")
      chunked = field.include?("chunked")
      100.times { chunked ? ["100000\r\n", MEGABYTE, "\r\n"].each { |part| peer.say(part) } : peer.say(MEGABYTE) }
      peer.say("0\r\n\r\n") if chunked
      peer.stall unless field.empty?
    end

    def retained
      GC.start
      resident
    end

    # @yield now and then
    # @return [Integer] bytes
    def drain(wire)
      total = 0
      while (piece = wire.read_piece)
        yield if (total >> 23) != ((total += piece.bytesize) >> 23)
      end
      total
    end
  end
end
