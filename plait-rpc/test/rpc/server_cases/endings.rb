# frozen_string_literal: true

require "msgpack"

module ServerCases
  # How it stops.
  module Endings
    def test_what_was_taken_is_answered
      serve
      working = connect
      idle = connect
      assert_serves(idle)
      before = listeners_at(@endpoint.port)
      refute_empty(before)
      working.request(1, "wait", "it")
      @service.notes.pop
      working.request(2, "add", 1, 2)
      @server.stop(within: 100)
      assert_closed(idle)
      assert_equal([1, 2, nil, 3], working.hear)
      refusal = "ServerStoppingError: the server is stopping"
      wait_until { working.request(3, "add", 1, 2) && working.hear[2] == refusal } # of its process, where there are others
      @service.gate("it") << :answered
      assert_equal([1, 1, nil, "answered"], working.hear)
      assert_closed(working)
      assert(@thread.join(60))
      assert_empty(before & listeners_at(@endpoint.port))
    end

    def test_what_takes_too_long_is_abandoned
      serve
      talker = connect
      talker.request(1, "wait", "never")
      @service.notes.pop
      @server.stop(within: 0.1)
      assert(@thread.join(60))
      assert_equal([1, 1, "AbandonedError: the method was ended before it had a result", nil], talker.hear)
      assert_closed(talker)
    end

    def test_delayed_results_are_waited_for
      serve
      talker = connect
      talker.request(1, "delayed")
      assert_equal(:delayed, @service.notes.pop)
      @server.stop(within: 100)
      assert_nil(talker.socket.wait_readable(0.1))
      @service.gate("delayed") << 5
      assert_equal([1, 1, nil, 5], talker.hear)
      assert(@thread.join(60))
    end

    def test_large_answers_leave_before_the_end
      serve
      talker = connect
      talker.request(1, "big", 5_000_000)
      wait_until { count(:done) == 1 }
      @server.stop(within: 100)
      assert_equal(5_000_000, talker.hear.last.bytesize)
      assert(@thread.join(60))
    end

    def test_a_second_run_is_refused_and_harms_no_first
      serve
      talker = connect
      assert_serves(talker)
      assert_raises(Plait::UsageError) { @server.run }
      [talker, connect].each { |one| assert_serves(one) }
    end

    def test_stopped_before_it_runs
      100.times do # its workers are at another place each time
        server = RPC::Server.new(@service, on: mechanism)
        server.listen("127.0.0.1", 0)
        server.stop
        thread = server.start
        assert(thread.join(60))
        assert_raises(Plait::UsageError) { server.run }
      end
    end

    def test_nothing_is_left_behind
      warm_up
      assert_no_leaks do
        serve
        talkers = Array.new(10) { connect.tap { |talker| assert_serves(talker) } }
        talkers.each { |talker| talker.request(1, "wait", "it") }
        talkers.first(5).each { |talker| talker.socket.close }
        @server.stop(within: 0)
        assert(@thread.join(60))
        talkers.each { |talker| talker.socket.close }
        @talkers.clear
      end
    end

    def warm_up
      serve
      assert_serves
      @server.stop
      @thread.join(60)
      @talkers.pop.socket.close
    end

    def test_a_delayed_result_after_the_end
      serve
      talker = connect
      talker.request(1, "delayed")
      assert_equal(:delayed, @service.notes.pop)
      @server.stop(within: 0)
      assert(@thread.join(60))
      @service.gate("delayed") << 5
      @service.finish
      assert_closed(talker)
    end
  end
end
