# frozen_string_literal: true

require "support/io_cases"

module WireCases
  # Each timeout, in each phase: that it is kept, that it is not too early, and that its error says which it was. How late it
  # may be depends on the machine: the others of a case would come much later.
  module Deadlines
    extend IoCases::ClassMethods

    # Clocks are read at slightly different moments.
    EARLY = 0.005
    LATE = 20
    # What an error says of each phase.
    NOT_TAKEN = /did not take the request in time/
    NO_ANSWER = /sent no answer in time/
    NO_REST = /did not go on with its answer in time/

    everywhere("no first byte") do
      with_wire(SAY[""]) do |wire|
        error = assert_late(Plait::ReadTimeout, wire, 0.1, NO_ANSWER) do
          get(wire, timeouts: Timeouts.new(first_byte: 0.1))
        end
        assert_equal([false, ENDPOINT], [error.retry_safe?, error.endpoint])
        assert_includes(error.message, "timeout: {first_byte: 0.1}")
        assert_equal([true, false], [wire.sent?, wire.received?])
      end
    end

    everywhere("a head that stalls") do
      with_wire(SAY["HTTP/1.1 200 OK\r\nConte"]) do |wire|
        assert_late(Plait::ReadTimeout, wire, 0.1, NO_REST) { get(wire, timeouts: Timeouts.new(read: 0.1)) }
        assert_predicate(wire, :received?)
      end
    end

    ["Content-Length: 9\r\n\r\nab", "Transfer-Encoding: chunked\r\n\r\n9\r\nab", "\r\nab"].each_with_index do |rest, index|
      everywhere("a body that stalls #{index}") do
        ways.each_value do |way|
          with_wire(SAY["HTTP/1.1 200 OK\r\n#{rest}"]) do |wire|
            impatient(read: 0.1) do
              assert_late(Plait::ReadTimeout, wire, 0.1, NO_REST) { way.call(wire) }
            end
          end
        end
      end
    end

    everywhere("a final answer that does not come after an interim one") do
      with_wire(SAY["HTTP/1.1 103 Early Hints\r\n\r\n"]) do |wire|
        assert_late(Plait::ReadTimeout, wire, 0.2, NO_ANSWER) { get(wire, timeouts: Timeouts.new(first_byte: 0.2)) }
      end
    end

    everywhere("a request that nobody takes") do
      with_pair do |wire|
        error = assert_late(Plait::WriteTimeout, wire, 0.1, NOT_TAKEN) do
          post(wire, "x" * 50_000_000, timeouts: Timeouts.new(read: 0.1))
        end
        refute_predicate(error, :retry_safe?)
      end
    end

    def test_a_pause_between_pieces_is_not_the_peers
      go = Queue.new
      script = lambda do |peer|
        peer.head && peer.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
        go.pop && peer.say("b") && peer.stall
      end
      in_growing_times(1, 10) do |seconds|
        with_wire(script) do |wire|
          opened(wire, timeouts: Timeouts.new(read: seconds))
          assert_equal("a", wire.read_piece)
          sleep(seconds * 1.2)
          go << true
          assert_equal("b", wire.read_piece)
        end
      end
    end

    # One that was late must not end another one's wait, nor be forgotten because another one has ended.
    everywhere("many at once, each at its own time") do |mechanism|
      serve(SAY[""]) do |server|
        waits = Array.new(30) do |index|
          seconds = 0.4 - (index * 0.01)
          mechanism.beside { late_after(server, seconds) }
        end
        waits.each(&:call)
      end
    end

    everywhere("those in time are not disturbed by those who are late") do |mechanism|
      release = Queue.new
      serve(->(peer) { peer.head.include?("/late") ? peer.stall : release.pop && peer.say(OK) && peer.stall }) do |server|
        fine = Array.new(10) { mechanism.beside { on(server) { |wire| get(wire).body } } }
        late = Array.new(20) { |index| mechanism.beside { late_after(server, 0.05 + (index % 5 * 0.01)) } }
        late.each(&:call)
        10.times { release << true }
        assert_equal(["hello"] * 10, fine.map(&:call))
      end
    end

    private

    def impatient(**seconds)
      @usual = Timeouts.new(**seconds)
      yield
    ensure
      @usual = nil
    end

    def on(server)
      wire = wire_to(server)
      yield wire
    ensure
      wire&.close
    end

    def late_after(server, seconds)
      on(server) do |wire|
        assert_late(Plait::ReadTimeout, wire, seconds, NO_ANSWER) do
          wire.get("/late", 0, BLOCK, Timeouts.new(first_byte: seconds, total: 60), nil)
        end
      end
    end

    def assert_late(kind, wire, seconds, words, &block)
      from = now
      error = assert_raises(kind, &block)
      assert_includes((seconds - EARLY)..(seconds + LATE), now - from)
      assert_match(words, error.message)
      assert_includes(error.message, ENDPOINT)
      assert_equal([true, true], [wire.closed?, wire.io.closed?])
      error
    end
  end
end
