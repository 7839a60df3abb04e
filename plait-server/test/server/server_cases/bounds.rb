# frozen_string_literal: true

module ServerCases
  # How much and how long.
  module Bounds
    # Serves an app that waits at "/wait" until the gate opens.
    def serve_gate(**options)
      @gate = Thread::Queue.new
      @arrived = Thread::Queue.new
      serve(**options) do |env|
        yield env if block_given?
        if env["PATH_INFO"] == "/wait"
          @arrived << true
          @gate.pop
        end
        [200, {}, ["done"]]
      end
    end

    def test_those_who_wait_do_not_hold_the_others_up
      serve_gate(limit: 20)
      waiting = Array.new(15) { connect.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n") }
      15.times { @arrived.pop }
      20.times { assert_equal("done", get.body) }
      15.times { @gate << true }
      assert_equal(["done"], waiting.map { |caller| caller.hear.body }.uniq)
    end

    def test_above_the_limit_requests_wait_in_order_and_above_the_queue_they_are_refused
      serve_gate(limit: 2, queue: 3)
      running = Array.new(2) { connect.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n") }
      2.times { @arrived.pop }
      queued = Array.new(3) { |number| connect.send("POST /#{number} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx") }
      wait_until { count(:waiting) == 3 }
      answer = get
      assert_equal([503, "1"], [answer.status, answer.fields["retry-after"]])
      2.times { @gate << true }
      assert_equal(["done"], (running + queued).map { |caller| caller.hear.body }.uniq)
      assert_serves
      assert_equal(6, count(:requests), "one that has waited is one")
    end

    def test_what_follows_an_answer_counts_too
      gate = Thread::Queue.new
      serve(limit: 1, queue: 1) do |env|
        env["rack.response_finished"] << ->(*) { gate.pop }
        [200, {}, []]
      end
      assert_equal(200, get.status)
      queued = connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until { count(:waiting) == 1 }
      assert_equal(503, get.status)
      2.times { gate << true }
      assert_equal(200, queued.hear.status)
    end

    def test_a_request_does_not_wait_for_ever
      serve_gate(limit: 1, queue_timeout: 1)
      running = connect.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
      @arrived.pop
      answer = get
      assert_equal([503, "1", "close"], [answer.status, *answer.fields.values_at("retry-after", "connection")])
      @gate << true
      assert_equal(200, running.hear.status)
      assert_serves
    end

    # An env that was kept is its own request's, though the next one is on the same connection, and has to wait.
    def test_a_hijack_that_comes_while_the_next_request_waits
      envs = []
      serve_gate(limit: 1) { |env| envs << env }
      caller = connect
      caller.get
      running = connect.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
      @arrived.pop
      caller.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until { count(:waiting) == 1 }
      assert_raises(Plait::ConnectionClosed) { envs.first["rack.hijack"].call }
      @gate << true
      assert_equal([200, 200], [running.hear.status, caller.hear.status])
    end

    def test_idle_connections_are_closed
      serve_text(idle_timeout: 5)
      caller = connect
      caller.get
      assert_closed(caller)
      assert_closed(connect)
    end

    # By each byte of a head the time does not begin anew.
    def test_a_head_that_takes_too_long
      serve_text(head_timeout: 1)
      caller = connect.send("GET / HTTP/1.1\r\n")
      thread = Thread.new { 100.times { |n| sleep(0.05) && caller.send("X-#{n}: 1\r\n") } rescue nil } # rubocop:disable Style/RescueModifier
      assert_equal(408, caller.hear.status)
    ensure
      thread&.kill&.join
    end

    def test_a_body_that_does_not_come
      serve_text(body_timeout: 0.5)
      assert_equal(408, connect.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab").hear.status)
    end

    def test_a_peer_that_reads_nothing
      body = "x" * 20_000_000
      bodies = { "/" => [], "/array" => [body], "/pieces" => Streams::Pieces.new(body) }
      serve(write_timeout: 0.5) { |env| [200, {}, bodies.fetch(env["PATH_INFO"])] }
      %w[/array /pieces].each.with_index(1) do |path, number|
        caller = connect.send("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until { count(:requests) == number && count(:connections).zero? }
        assert_operator(caller.rest.bytesize, :<, body.bytesize)
      end
      assert_serves
    end

    def test_so_many_requests_on_a_connection
      serve_text(requests: 3)
      caller = connect
      assert_equal([nil, nil, "close"], Array.new(3) { caller.get.fields["connection"] })
      assert_closed(caller)
    end

    def test_so_many_connections
      serve_text(connections: 2)
      first, second, third = Array.new(3) { connect }
      [first, second].each { |caller| assert_equal(200, caller.get.status) }
      third.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_equal(2, count(:connections))
      first.close
      assert_equal(200, third.hear.status)
      assert_equal(200, second.get.status)
    end

    def test_many_at_once
      serve { |env| sleep(0.001) && [200, {}, [env["PATH_INFO"]]] }
      callers = Array.new(100) { connect }
      5.times do |round|
        callers.each_with_index { |caller, number| caller.send("GET /#{round}/#{number} HTTP/1.1\r\nHost: a\r\n\r\n") }
        assert_equal((0...100).map { |number| "/#{round}/#{number}" }, callers.map { |caller| caller.hear.body })
      end
    end

    def test_an_idle_connection_costs_no_object
      serve_text
      callers = Array.new(50) { connect.tap(&:get) }
      before = objects
      callers.concat(Array.new(50) { connect.tap(&:get) })
      wait_until { count(:idle) == 100 }
      assert_operator(objects - before, :<, 50 * 12, "the test's own are some each")
    end

    private

    def objects
      GC.start
      ObjectSpace.count_objects.then { |counts| counts[:TOTAL] - counts[:FREE] }
    end
  end
end
