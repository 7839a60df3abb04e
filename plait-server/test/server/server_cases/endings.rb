# frozen_string_literal: true

module ServerCases
  # How a server ends.
  module Endings
    def test_nothing_is_left_behind
      assert_no_leaks do
        serve_text
        3.times { assert_serves }
        idle = connect
        idle.get
        @callers.each(&:close)
        @server.stop(within: 1)
        assert(@thread.join(20))
      end
    end

    def test_a_fiber_that_an_app_has_left_behind_is_cancelled
      ended = Queue.new
      serve do
        next [501, {}, []] unless Fiber.current_scheduler

        Fiber.schedule do
          sleep
        ensure
          ended << true
        end
        [200, {}, ["ok"]]
      end
      status = get("/").status
      @server.stop(within: 1)
      assert(@thread.join(20))
      assert_equal(status == 200 ? 1 : 0, ended.size)
    end

    def test_what_was_begun_is_answered
      arrived = Thread::Queue.new
      gate = Thread::Queue.new
      serve { (arrived << true) && gate.pop && [200, {}, ["done"]] }
      caller = connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      idle = connect
      arrived.pop
      @server.stop(within: 20)
      assert_closed(idle)
      gate << true
      answer = caller.hear
      assert_equal(%w[done close], [answer.body, answer.fields["connection"]])
      assert(@thread.join(20))
    end

    def test_who_has_taken_a_connection_over_can_end_what_he_has_begun
      arrived = Thread::Queue.new
      gate = Thread::Queue.new
      serve(lint: false) do |env|
        io = env["rack.hijack"].call
        arrived << true
        io.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\n#{gate.pop}")
        io.close
        [-1, {}, []]
      end
      caller = connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      arrived.pop
      @server.stop(within: 20)
      assert_nil(@thread.join(0.3), "it does not wait")
      gate << "done"
      assert_equal("done", caller.hear.body)
      assert(@thread.join(20))
    end

    def test_an_app_that_does_not_end_is_ended
      arrived = Thread::Queue.new
      serve { |env| env["PATH_INFO"] == "/quick" ? [200, {}, []] : (arrived << true) && sleep }
      caller = connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      arrived.pop
      2.times { connect.get("/quick") }
      @server.stop(within: 0.1)
      assert(@thread.join(20), "it goes on")
      assert_closed(caller)
      assert_equal(1, count(:cut))
    end

    # An error is handled in the middle of that end, which goes on.
    def test_what_fails_behind_a_request_that_is_ended
      arrived = Thread::Queue.new
      serve(lint: false) do |env|
        env["rack.response_finished"] << ->(*) { raise "boom" }
        (arrived << true) && sleep
      end
      connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      arrived.pop
      @server.stop(within: 0)
      assert(@thread.join(20))
      assert_match(/boom/, @errors.next)
    end

    def test_a_second_one_who_ends_it_may_give_less_time
      arrived = Thread::Queue.new
      serve { (arrived << true) && sleep }
      connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      arrived.pop
      @server.stop(within: 300)
      assert_nil(@thread.join(0.05))
      @server.stop(within: 600)
      @server.stop(within: 0)
      assert(@thread.join(20), "it waits on")
    end

    def test_nobody_is_left_to_wait_at_a_server_that_ends
      arrived = Thread::Queue.new
      gate = Thread::Queue.new
      serve { (arrived << true) && gate.pop && [200, {}, ["done"]] }
      caller = connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      arrived.pop
      port = @server.endpoints.first.port
      before = listeners_at(port)
      @server.stop(within: 300)
      wait_until { !before.intersect?(listeners_at(port)) }
      gate << true
      assert_equal("done", caller.hear.body)
    end

    def test_time_runs_out_while_the_server_ends
      serve_text(head_timeout: 2)
      caller = connect.send("GET / HTTP/1.1\r\nHo")
      wait_until { (count(:connections) == 1 && count(:idle).zero?) || caller.socket.wait_readable(0) }
      @server.stop(within: 300)
      assert_equal(408, caller.hear.status)
      caller.close
      assert(@thread.join(20), "it waits on")
    end

    # A fork has a copy of all descriptors: the end of a connection is told nevertheless, and what was cut is no whole.
    def test_connections_end_though_the_app_has_forked
      forks = Thread::Queue.new
      serve(lint: false) do |env|
        forks << fork { sleep }
        [200, { "connection" => "close" }, env["PATH_INFO"] == "/cut" ? Streams::Pieces.new("half") { raise "boom" } : []]
      end
      assert_closed((caller = connect).tap(&:get))
      caller = connect.send("GET /cut HTTP/1.0\r\n\r\n")
      assert_raises(Errno::ECONNRESET) { loop { caller.raw } }
    ensure
      Array.new(forks.size) { forks.pop }.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
    end

    def test_a_server_runs_once
      serve_text
      assert_serves
      assert_raises(Plait::UsageError) { @server.run }
      assert_serves # the one that runs goes on
    end

    def test_stopped_before_it_runs
      server = Plait::Server.new(->(_) { [200, {}, []] }, on: mechanism, bind: "tcp://127.0.0.1:0")
      server.stop(within: 0)
      assert_nil(server.run)
    end
  end
end
