# frozen_string_literal: true

require "msgpack"

module ServerCases
  # How much is taken on at once, and for how long is waited.
  module Bounds
    # No more is read when enough is waiting, and all is answered in the end.
    def test_a_full_backlog_stops_reading
      serve(queue: 20, pipeline: 1_000, limit: 2)
      talkers = Array.new(3) { connect }
      writers = talkers.map do |talker|
        Thread.new { talker.socket.write(Array.new(500) { |id| [0, id, "wait", ["it"]].to_msgpack }.join) }
      end
      wait_until { count(:running) == 2 && count(:waiting) >= 18 }
      assert_operator(count(:requests), :<=, 22)
      1_500.times { |number| @service.gate("it") << number }
      answers = talkers.map { |talker| talker.hear_many(500) }
      assert_equal([[*0...500]] * 3, answers.map { |list| list.map { |answer| answer[1] }.sort })
      assert_equal([*0...1_500], answers.flatten(1).map(&:last).sort)
      writers.each(&:join)
    end

    def test_no_more_methods_at_once_than_allowed
      serve(limit: 3)
      talker = connect
      10.times { |id| talker.request(id, "wait", "it") }
      3.times { @service.notes.pop }
      wait_until { count(:waiting) == 7 }
      assert_equal(3, count(:running))
      assert_predicate(@service.notes, :empty?)
      10.times { @service.gate("it") << 1 }
      assert_equal(10, talker.hear_many(10).size)
    end

    # Its own calls wait for answers, so it is read from however much waits: what can't be taken is refused.
    def test_busy
      serve(queue: 4, pipeline: 100, limit: 1)
      talker = connect
      talker.request(1, "call_back", "who")
      question = talker.hear
      blocked = connect
      blocked.request(0, "wait", "it") # in the place of the one that waits for its answer
      assert_equal([:waits, "it"], @service.notes.pop)
      8.times { |id| talker.request(10 + id, "wait", "it") }
      refused = talker.hear_many(4)
      assert_equal([14, 15, 16, 17], refused.map { |answer| answer[1] })
      assert_equal(["ServerBusyError: 4 requests wait already"], refused.map { |answer| answer[2] }.uniq)
      talker.answer(question[1], "me")
      assert_equal([1, 1, nil, "me"], talker.hear)
      5.times { @service.gate("it") << 1 }
      assert_equal([10, 11, 12, 13], talker.hear_many(4).map { |answer| answer[1] }.sort)
    end

    def test_connections
      serve(connections: 2)
      first, second = Array.new(2) { connect.tap { |talker| assert_serves(talker) } }
      third = connect
      third.request(7, "add", 1, 2)
      assert_nil(third.socket.wait_readable(0.1))
      assert_serves(first)
      second.socket.close
      assert_equal([1, 7, nil, 3], third.hear)
    end

    def test_idle_ones_are_closed
      serve(idle_timeout: 5) # or a machine that stands still for a moment makes a busy one idle
      idle = connect
      busy = connect
      working = connect
      working.request(1, "wait", "it")
      took = stopwatch do
        assert_serves(idle) # the clock runs before its last message
        closer = Thread.new { assert_closed(idle) }
        assert_serves(busy) && sleep(0.02) while closer.alive?
        closer.join
      end
      assert_operator(took, :>=, 4.9)
      @service.gate("it") << :done
      assert_equal([1, 1, nil, "done"], working.hear)
    end

    # A byte now and then does not prolong a message's time.
    def test_half_a_message
      serve(message_timeout: 0.4)
      slow = connect
      message = [0, 1, "echo", ["x" * 1_000]].to_msgpack
      sent = 0
      begin
        message.each_char { |byte| (sent += slow.socket.write(byte)) && slow.socket.wait_readable(0.05) and break }
        assert_closed(slow)
      rescue Errno::EPIPE, Errno::ECONNRESET
        nil
      end
      assert_operator(sent, :<, message.bytesize)
      assert_serves
    end

    # One that has gaps between messages only is not slow.
    def test_a_message_now_and_then
      serve(message_timeout: 6)
      talker = connect
      message = [0, 1, "add", [1, 2]].to_msgpack
      talker.socket.write(message.byteslice(0, 5))
      9.times do
        sleep(0.75)
        talker.socket.write(message.byteslice(5..) + message.byteslice(0, 5))
        assert_equal([1, 1, nil, 3], talker.hear)
      end
    end
  end
end
