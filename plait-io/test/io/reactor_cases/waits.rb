# frozen_string_literal: true

require "support/io_cases"

module ReactorCases
  # Waits, on threads and in fibers.
  module Waits
    extend IoCases::ClassMethods

    everywhere("a wait ends when something comes") do |mechanism|
      (ours, theirs), = watched(1)
      waiter = mechanism.beside { wait }
      mechanism.beside { theirs.write("x") }.call
      assert_equal([0], waiter.call)
      assert_equal("x", ours.read_nonblock(9))
    end

    everywhere("what is added during a wait counts") do |mechanism|
      waiter = mechanism.beside { wait }
      sleep(0.01)
      ours, theirs = pair
      theirs.write("x")
      @reactor.add(ours, :late)
      assert_equal([:late], waiter.call)
    end

    everywhere("a wait ends in time") do
      watched(1)
      took = stopwatch { assert_empty(wait(0.05)) }
      assert_operator(took, :>=, 0.05)
      assert_operator(took, :<, 60)
    end

    everywhere("wake ends a wait or the next one") do |mechanism|
      waiter = mechanism.beside { wait(300) }
      sleep(0.01)
      @reactor.wake
      took = stopwatch { assert_empty(waiter.call) }
      @reactor.wake
      took += stopwatch { assert_empty(wait(300)) }
      assert_operator(took, :<, 100)
      assert_empty(wait(0))
    end

    everywhere("close ends a wait") do |mechanism|
      watched(1)
      waiter = mechanism.beside { wait(30) }
      sleep(0.01)
      @reactor.close
      assert_nil(waiter.call)
      assert_predicate(@reactor, :closed?)
      assert_nil(wait)
      assert_raises(IOError) { @reactor.add(pair.first, 1) }
      @reactor.wake
      @reactor.close
    end

    everywhere("an interrupted wait loses nothing") do |mechanism|
      (_, theirs), = watched(1)
      waiter = mechanism.beside { Plait.timeout(0.03) { wait(30) } }
      assert_raises(Plait::TimeoutError) { waiter.call }
      theirs.write("x")
      assert_equal([0], wait)
    end

    def test_woken_by_a_signal_handler
      old = trap(:USR2) { @reactor.wake }
      thread = Thread.new { wait(30) }
      wait_until { thread.stop? }
      Process.kill(:USR2, Process.pid)
      assert_empty(thread.value)
    ensure
      trap(:USR2, old || "DEFAULT")
    end

    def test_a_look_finds_what_is_there_beside_signals
      skip("no fork here") unless Process.respond_to?(:fork)
      (ours, theirs), = watched(1)
      theirs.write("x")
      signalled do
        20_000.times do
          assert_equal([0], wait(0))
          @reactor.rearm(ours)
        end
      end
    end

    # Runs a block while this process gets some thousand signals a second.
    def signalled
      old = trap(:WINCH) { nil }
      ours = Process.pid
      sender = fork do
        sleep(0.0002) while Process.kill(:WINCH, ours)
      ensure
        exit!
      end
      yield
    ensure
      Process.kill(:KILL, sender)
      Process.wait(sender)
      trap(:WINCH, old || "DEFAULT")
    end

    def test_others_run_while_one_waits
      thread = Thread.new { wait(300) }
      wait_until { thread.stop? }
      took = stopwatch { 10.times { Thread.pass } }
      thread.kill.join
      assert_operator(took, :<, 100)
    end

    # Killed when its events are there: they are for the next one.
    def test_a_killed_wait_loses_nobodys_turn
      pairs = watched(3)
      100.times do
        tokens = []
        thread = Thread.new { Thread.handle_interrupt(Object => :on_blocking) { tokens = wait(30) } }
        Thread.pass until thread.stop?
        write_to(pairs)
        assert(thread.kill.join(60))
        assert_equal([0, 1, 2], (tokens + told).sort)
        pairs.map(&:first).each { |ours| ours.read_nonblock(9) && @reactor.rearm(ours) }
      end
    end
  end
end
