# frozen_string_literal: true

require "timeout"
require "support/io_cases"

module WireCases
  # Whatever ends an exchange early closes the connection: its answer reaches nobody.
  module Interruptions
    extend IoCases::ClassMethods

    SILENT = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"

    def test_a_killed_thread_closes_the_wire
      each_moment do |wire, use|
        thread = Thread.new { use.call(wire) }
        wait_until { busy?(wire) && thread.stop? }
        thread.kill.join
        assert_gone(wire)
      end
    end

    def test_an_exception_from_another_thread_closes_the_wire
      each_moment do |wire, use|
        thread = Thread.new { use.call(wire) }
        thread.report_on_exception = false
        wait_until { busy?(wire) && thread.stop? }
        thread.raise(Interrupt)
        assert_raises(Interrupt) { thread.join }
        assert_gone(wire)
      end
    end

    everywhere("a timeout from outside closes the wire") do
      each_moment_in_time do |wire, use, seconds|
        assert_raises(Timeout::Error) { Timeout.timeout(seconds) { use.call(wire) } }
      end
    end

    everywhere("Plait.timeout closes the wire", on: %i[threads fibers]) do
      each_moment_in_time do |wire, use, seconds|
        assert_raises(Plait::TimeoutError) { Plait.timeout(seconds) { use.call(wire) } }
      end
    end

    # The first failure cancels the others.
    %i[threads fibers].each do |mechanism|
      define_method("test_cancellation_closes_the_wire_on_#{mechanism}") do
        each_moment do |wire, use|
          user = nil
          assert_raises(KeyError) do
            Plait.map([wire, nil], on: mechanism, limit: 2) do |one|
              one ? (user = Thread.current) && use.call(one) : fail_when { waits?(wire, user) }
            end
          end
          assert_gone(wire)
        end
      end
    end

    def test_a_cancelled_task_closes_the_wire
      each_moment do |wire, use|
        Plait.run(on: :fibers) do |scope|
          task = scope.async { use.call(wire) }
          wait_until { busy?(wire) }
          task.cancel
          assert_raises(Plait::CancelledError) { task.value }
        end
        assert_gone(wire)
      end
    end

    everywhere("closed while somebody waits") do |mechanism|
      each_moment do |wire, use|
        user = nil
        waiting = mechanism.beside { (user = Thread.current) && use.call(wire) }
        wait_until { waits?(wire, user) }
        sleep(0.01)
        wire.close
        assert_predicate(wire, :closed?)
        error = assert_raises(Plait::ConnectionClosed) { waiting.call }
        assert_match(/closed on this side/, error.message)
        assert_gone(wire)
      end
    end

    everywhere("closed from a thread while somebody waits") do
      each_moment do |wire, use|
        user = Thread.current
        closer = Thread.new { wait_until { waits?(wire, user) } && sleep(0.01) && wire.close }
        assert_match(/closed on this side/, assert_raises(Plait::ConnectionClosed) { use.call(wire) }.message)
        closer.join
        assert_gone(wire)
      end
    end

    everywhere("two at once are refused and the first goes on") do |mechanism|
      go = Queue.new
      with_wire(->(peer) { peer.head && go.pop && peer.say(OK) && peer.stall }) do |wire|
        first = mechanism.beside { get(wire).body }
        wait_until { busy?(wire) }
        [-> { get(wire) }, -> { opened(wire) }, -> { wire.read_piece }, -> { wire.resume("") }, -> { wire.detach },
         -> { wire.expect_continue(HEAD, 0, PATIENT, nil) }].each do |second|
          error = assert_raises(Plait::UsageError, &second)
          assert_match(/in use/, error.message)
          assert_includes(error.message, ENDPOINT)
        end
        assert_equal([false, true, false], [wire.reusable?, wire.stale?, wire.closed?])
        go << true
        assert_equal(["hello", true], [first.call, wire.reusable?])
      end
    end

    everywhere("two readers at once are refused and the first goes on") do |mechanism|
      go = Queue.new
      with_wire(->(peer) { peer.head && peer.say(SILENT) && go.pop && peer.say("cdefghi") && peer.stall }) do |wire|
        opened(wire)
        assert_equal("ab", wire.read_piece)
        first = mechanism.beside { pieces(wire).join }
        wait_until { busy?(wire) }
        assert_match(/in use/, assert_raises(Plait::UsageError) { wire.read_piece }.message)
        go << true
        assert_equal(["cdefghi", true], [first.call, wire.reusable?])
      end
    end

    private

    # Waiting for an answer, for the rest of it, for the next piece, to send: for ever.
    def each_moment
      moments.each_value do |bytes, prepare, use|
        with_pair do |wire, peer|
          peer.say(bytes) if bytes
          prepare&.call(wire)
          yield(wire, use)
        end
      end
    end

    # A time that is over before the exchange has begun proves nothing: then it is given more.
    def each_moment_in_time
      moments.each do |name, (bytes, prepare, use)|
        gone = [0.05, 0.5, 5].any? do |seconds|
          with_pair do |wire, peer|
            peer.say(bytes) if bytes
            prepare&.call(wire)
            yield(wire, use, seconds)
            wire.closed? && wire.io.closed?
          end
        end
        assert(gone, name)
      end
    end

    # @return [Hash{String => Array}] what the peer has said, what is done before, and what never ends
    def moments
      {
        "first byte" => ["", nil, ->(wire) { get(wire) }], "body" => [SILENT, nil, ->(wire) { get(wire) }],
        "piece" => [SILENT, ->(wire) { opened(wire) && wire.read_piece }, :read_piece.to_proc],
        "send" => [nil, nil, ->(wire) { post(wire, "x" * 30_000_000) }]
      }
    end

    def assert_gone(wire)
      wait_until { wire.io.closed? }
      assert_equal([true, false], [wire.closed?, wire.reusable?])
    end

    # A thread that is about to begin has the wire already, and may still leave it as it was.
    def waits?(wire, user) = busy?(wire) && (user == Thread.current || user.stop?)

    def fail_when(&condition)
      wait_until(&condition)
      raise KeyError, "not there"
    end
  end
end
