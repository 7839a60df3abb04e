# frozen_string_literal: true

require "msgpack"

module ServerCases
  # Methods and peers that do harm: to nobody but themselves.
  module Misbehaviour
    ENDS = { "kill" => /\AAbandonedError/, "leave" => /\AAbandonedError: the method called exit/, "odd" => /\AAbandonedError/,
             "forever" => /\ASystemStackError/, "exhausted" => /\ANoMemoryError/,
             "thrown" => /\AUncaughtThrowError/ }.freeze

    def test_methods_that_end_what_runs_them
      serve
      talker = connect
      waiting = connect
      waiting.request(1, "wait", "it")
      ENDS.each do |method, message|
        assert_match(message, call(talker, method).first)
        3.times { call(talker, method) } # a thread that was kept from its end takes no further kill
        assert_serves(talker)
      end
      @service.gate("it") << :unharmed
      assert_equal([1, 1, nil, "unharmed"], waiting.hear)
    end

    def test_a_result_without_a_form
      serve({ object: -> { Object.new }, endless: -> { [].tap { |list| list << list } }, huge: -> { 1 << 70 } })
      talker = connect
      %w[object endless huge].each do |method|
        assert_match(/\AResultError: a value of \w+ can't be packed/, call(talker, method).first)
      end
    end

    def test_peers_that_leave_in_the_middle
      serve
      20.times do |number|
        talker = connect
        talker.reset_at_close if number.odd?
        talker.request(1, "wait", "them")
        assert_equal([:waits, "them"], @service.notes.pop)
        talker.socket.close
      end
      20.times { @service.gate("them") << 1 }
      assert_serves
      wait_until { count(:connections) == 1 }
    end

    # Nobody would hear the answers. To notifications there are none.
    def test_requests_of_who_is_gone_are_not_begun
      serve(limit: 1)
      working, gone = Array.new(2) { connect }
      working.request(1, "wait", "it")
      assert_equal([:waits, "it"], @service.notes.pop)
      5.times { |number| gone.request(number, "note", number) }
      gone.say(2, "note", ["told"])
      wait_until { count(:waiting) == 6 }
      gone.socket.close
      wait_until { count(:waiting) == 1 }
      @service.gate("it") << :done
      assert_equal([1, 1, nil, "done"], working.hear)
      assert_serves(working)
      assert_equal("told", @service.notes.pop)
      assert_predicate(@service.notes, :empty?)
      assert_equal(3, count(:done))
    end

    # Whoever waited for their places gets them.
    def test_requests_of_who_is_gone_make_room
      serve(limit: 1, queue: 8)
      working, gone, patient = Array.new(3) { connect }
      working.request(1, "wait", "it")
      assert_equal([:waits, "it"], @service.notes.pop)
      8.times { |number| gone.request(number, "note", number) }
      wait_until { count(:waiting) == 8 }
      patient.request(1, "note", 8)
      gone.socket.close
      wait_until { count(:requests) == 10 && count(:waiting) == 1 }
      @service.gate("it") << :done
      assert_equal([1, 1, nil, nil], patient.hear)
    end

    # It sends requests for ever and reads nothing: it is slowed, and cut in the end; its neighbour is served meanwhile.
    def test_a_peer_that_never_reads
      serve(write_timeout: 1, outbox: 256 * 1024)
      deaf = connect
      requests = [0, 1, "big", [60_000]].to_msgpack * 300
      taken = 0
      ended = Plait::Deadline.after(90)
      begin
        until ended.expired?
          sent = deaf.socket.write_nonblock(requests, exception: false)
          sent == :wait_writable ? deaf.socket.wait_writable(0.05) : taken += sent
          assert_serves(@talkers[1] || connect)
        end
      rescue Errno::EPIPE, Errno::ECONNRESET
        @cut = true
      end
      assert(@cut, "it was never cut")
      wait_until { count(:connections) == 1 }
      assert_operator(@service.bigs, :<, 250, "its requests were run")
    end

    # Slow, but not dead: it gets all.
    def test_a_peer_that_reads_late
      serve(outbox: 64 * 1024)
      slow = connect
      slow.socket.write([0, 1, "big", [100_000]].to_msgpack * 200)
      wait_until { count(:done) >= 1 }
      assert_serves
      assert_all_come(slow)
      assert_serves(slow)
    end

    # What was held back goes on whenever it takes more, also when it does so in the very moment in which it is held back.
    def test_peers_that_take_what_they_are_sent_bit_by_bit
      serve(outbox: 64 * 1024)
      12.times do
        talker = connect
        talker.socket.write([0, 1, "big", [100_000]].to_msgpack * 200)
        assert_all_come(talker)
      end
    end

    def assert_all_come(talker)
      answers = talker.hear_many(200).map { |answer| [*answer.first(3), answer.last.bytesize] }
      assert_equal([[1, 1, nil, 100_000]], answers.uniq)
    end

    # One sends more than all can do; another one's call does not wait behind all of it.
    def test_a_flood_of_one_does_not_hold_up_others
      serve(pipeline: 16, queue: 1024, limit: 4)
      flood = connect
      writer = Thread.new { flood.socket.write([0, 1, "wait", ["flood"]].to_msgpack * 2_000) }
      4.times { @service.notes.pop }
      wait_until { count(:waiting) == 12 }
      patient = connect
      patient.request(1, "add", 1, 2)
      wait_until { count(:waiting) == 13 }
      assert_equal(17, count(:requests))
      2_000.times { @service.gate("flood") << 1 }
      assert_equal([1, 1, nil, 3], patient.hear)
      assert_equal([[1, 1, nil, 1]], flood.hear_many(2_000).uniq)
      writer.join
    end
  end
end
