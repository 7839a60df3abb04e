# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "support/fresh_ruby"
require "plait/http"
require "plait/io/tls"
require "plait/mechanisms/scheduler"
require "support/certificates"
require_relative "raw_server"

if Plait.const_get(:Native).available?
  # How the wire in C waits, where that differs from its twin: by the selector itself, with one alarm for all deadlines.
  class NativeWireWaitsTest < Minitest::Test
    Timeouts = Plait::HTTP::Timeouts
    OK = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    # Answers, unless it is asked for /never.
    ORIGIN = lambda do |peer|
      while (head = peer.head)
        head.include?("/never") ? peer.stall : peer.say(OK)
      end
    end

    def wire_to(server) = Plait::HTTP.const_get(:NativeWire).new(server.connect, endpoint: "tcp://origin:80")

    def get(wire, path = "/", timeouts = Timeouts.new) = wire.get(path, 0, "Host: origin\r\n", timeouts, nil)

    def late?(server, seconds)
      wire = wire_to(server)
      get(wire, "/never", Timeouts.new(first_byte: seconds))
      false
    rescue Plait::ReadTimeout
      wire.closed?
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def on_scheduler(scheduler)
      Thread.new do
        Thread.current.report_on_exception = false
        Fiber.set_scheduler(scheduler.call)
        Fiber.schedule { yield Fiber.scheduler }
      end.join
    end

    def test_one_alarm_serves_many_deadlines
      RawServer.open(ORIGIN) do |server|
        late, answered = Plait.run(on: :fibers) do |scope|
          waiting = Array.new(60) { |number| scope.async { late?(server, 0.02 + (number % 7 * 0.01)) } }
          long = Timeouts.new(first_byte: 30)
          others = Array.new(20) { scope.async { Array.new(20) { get(wire_to(server), "/", long).body } } }
          [waiting, others].map { |tasks| tasks.map(&:value).flatten.tally }
        end
        assert_equal([{ true => 60 }, { "hello" => 400 }], [late, answered])
      end
    end

    # The loop is busy until all deadlines have passed, and each fiber for longer than a turn of the loop.
    def test_an_answer_that_has_come_in_time_counts
      in_growing_times(3, 20) do |seconds|
        asked = Queue.new
        gate = Queue.new
        said = Queue.new
        origin = ->(peer) { peer.head && (asked << 1) && gate.pop && peer.say(OK) && (said << 1) && peer.stall }
        RawServer.open(origin) do |server|
          bodies = Plait.run(on: :fibers) do |scope|
            limit = Timeouts.new(first_byte: seconds)
            tasks = Array.new(20) { scope.async { get(wire_to(server), "/", limit).body.tap { spin(0.01) } } }
            scope.async do
              sleep(0.01) until asked.size == 20
              20.times { gate << 1 }
              spin(seconds)
              assert_equal(20, said.size)
            end
            tasks.map(&:value)
          end
          assert_equal({ "hello" => 20 }, bodies.tally)
        end
      end
    end

    def spin(seconds)
      stop = now + seconds
      Thread.pass while now < stop
    end

    # As by an interrupt, just there.
    def test_a_deadline_that_can_not_be_set_leaves_the_others
      asked = Queue.new
      RawServer.open(->(peer) { (asked << peer.head) && peer.stall }) do |server|
        Plait.run(on: :fibers) do |scope|
          other = scope.async { late?(server, 1) }
          asked.pop
          wire = wire_to(server)
          refusal = ->(*) { raise(KeyError, "no") }
          Fiber.scheduler.stub(:after, refusal) { assert_raises(KeyError) { get(wire, "/never", Timeouts.new(first_byte: 0.1)) } }
          assert(Plait.timeout(60) { other.value })
        end
      end
    end

    # The alarm is set for the first one; a shorter one that comes later must not wait for it.
    def test_a_shorter_deadline_after_a_longer_one
      asked = Queue.new
      RawServer.open(->(peer) { (asked << peer.head) && peer.stall }) do |server|
        Plait.run(on: :fibers) do |scope|
          long = scope.async { late?(server, 100) }
          asked.pop
          begun = now
          assert_equal([true] * 3, [0.3, 0.1, 0.2].map { |seconds| scope.async { late?(server, seconds) } }.map(&:value))
          assert_operator(now - begun, :<, 50)
          long.cancel
        end
      end
    end

    def test_the_alarm_keeps_no_loop_running
      RawServer.open(ORIGIN) do |server|
        begun = now
        Plait.run(on: :fibers) { |scope| scope.async { get(wire_to(server), "/", Timeouts.new(first_byte: 60)) }.value }
        assert_operator(now - begun, :<, 30)
      end
    end

    def test_a_timer_for_each_wait_is_not_needed
      RawServer.open(ORIGIN) do |server|
        on_scheduler(-> { Plait::Scheduler.new }) do |scheduler|
          wire = wire_to(server)
          50.times { get(wire) }
          assert_operator(scheduler.instance_variable_get(:@timers).size, :<=, 2)
        end
      end
    end

    def test_the_watchdog_sees_who_blocks_after_a_wait
      RawServer.open(ORIGIN) do |server|
        reports = []
        on_scheduler(-> { Plait::Scheduler.new(blocking: ->(report) { reports << report }, threshold: 0.02) }) do
          get(wire_to(server))
          give_up = now + 30
          nil until reports.any? || now > give_up
        end
        assert_operator(reports.size, :>=, 1)
      end
    end

    # It never leaves its exchange: the list of deadlines, the scheduler and the wire go in any order.
    def test_a_fiber_that_goes_with_its_scheduler
      RawServer.open(ORIGIN) do |server|
        5.times { forget_a_fiber(server) }
        3.times { GC.start }
        assert_equal("hello", get(wire_to(server)).body)
      end
    end

    def forget_a_fiber(server)
      Thread.new do
        Fiber.set_scheduler(scheduler = Plait::Scheduler.new)
        Fiber.schedule { get(wire_to(server), "/never", Timeouts.new(first_byte: 60)) }
        scheduler.abandon
      end.join
    end

    # All of it is there already, so that there is nothing to wait for.
    def test_a_long_body_by_tls_lets_others_run
      length = 600_000 # 37 records: two turns at least
      with_tls_wire("HTTP/1.1 200 OK\r\nContent-Length: #{length}\r\n\r\n#{"x" * length}") do |wire|
        turns = 0
        Plait.run(on: :fibers) do |scope|
          other = scope.async { loop { (turns += 1) && sleep(0) } }
          sleep(0) until turns.positive? # a loop that is late begins no new task before it goes on with the others
          before = turns
          assert_equal(length, wire.get("/", 0, "Host: origin\r\n", nil, nil).body.bytesize)
          assert_operator(turns - before, :>=, 2, "turns of the loop")
          other.cancel
        end
      end
    end

    # A wire to a server that has sent these bytes.
    def with_tls_wire(bytes)
      pair = Certificates.self_signed("DNS:localhost")
      context = OpenSSL::SSL::SSLContext.new.tap { |server| server.add_certificate(pair.certificate, pair.key) }
      sent = Queue.new
      RawServer.open(->(peer) { peer.secure(context) && peer.say(bytes) && (sent << true) && peer.stall }) do |server|
        wire = tls_wire_to(server)
        sent.pop
        yield(wire)
      end
    end

    def tls_wire_to(server)
      socket = Socket.new(:INET, :STREAM)
      socket.setsockopt(:SOCKET, :RCVBUF, 1 << 20)
      socket.connect(Addrinfo.tcp("127.0.0.1", server.port))
      Plait::HTTP.const_get(:NativeWire).new(Plait.const_get(:Io)::TLS::Socket.new(socket).tap(&:connect))
    end

    CTRL_C = <<~RUBY
      require "plait"
      require "socket"
      ours, theirs = UNIXSocket.pair
      wire = Plait::HTTP.const_get(:NativeWire).new(ours)
      Thread.new { theirs.gets && Process.kill(:INT, Process.pid) }
      begin
        wire.get("/", 0, "Host: origin\\r\\n", nil, nil)
      rescue Interrupt
        print "interrupted, closed: ", wire.closed?
      end
    RUBY

    def test_ctrl_c
      result = Support::FreshRuby.run(CTRL_C)
      assert_equal("interrupted, closed: true", result.out, result.err)
    end

    RACTOR = <<~RUBY
      require "plait"
      require "socket"
      Plait::HTTP
      begin
        ractor = Ractor.new { Plait::HTTP.const_get(:NativeWire).new(UNIXSocket.pair.first) }
        ractor.respond_to?(:value) ? ractor.value : ractor.take
      rescue Ractor::RemoteError => e
        print e.cause.class
      end
    RUBY

    # Its buffers are the process's.
    def test_other_ractors_are_refused
      result = Support::FreshRuby.run(RACTOR)
      assert_equal("Ractor::UnsafeError", result.out, result.err)
    end
  end
end
