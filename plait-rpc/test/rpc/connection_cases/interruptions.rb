# frozen_string_literal: true

module ConnectionCases
  # Kills, cancellations, exceptions from elsewhere: nobody else is harmed.
  module Interruptions
    def test_a_reader_that_is_killed_gives_the_reading_to_another
      with_pair do |connection, talker|
        reader = Thread.new { connection.request(:first, []) }
        talker.hear
        follower = Thread.new { connection.request(:second, []) }
        id = talker.hear[1]
        wait_until_asleep([reader, follower])
        reader.kill.join
        assert_equal(1, connection.pending)
        talker.answer(id, 2)
        assert_equal(2, follower.value)
      end
    end

    # Their answers come by one receive; who is gone doesn't keep the next ones from theirs.
    def test_some_of_those_whose_answers_come_together_are_killed
      20.times do
        with_pair do |connection, talker|
          threads = Array.new(8) { |number| Thread.new { connection.request(:m, [number]) + connection.request(:m, [number]) } }
          calls = talker.hear_many(8)
          wait_until_asleep(threads)
          talker.socket.write(calls.map { |_, id, _, (value)| [1, id, nil, value].to_msgpack }.join)
          killed = threads.values_at(1, 4, 6).each(&:kill).each(&:join)
          while (threads - killed).any?(&:alive?)
            talker.answer((call = talker.hear)[1], call.last.first) if talker.heard?
          end
          threads.each_with_index { |thread, number| assert_equal(2 * number, thread.value) unless killed.include?(thread) }
        end
      end
    end

    # The one who would wake the next is kept from it.
    def test_a_signal_handler_of_one_who_is_woken_holds_up_nobody
      gate = Queue.new
      with_pair do |connection, talker|
        main = Thread.main
        before = trap(:USR2) { gate.pop }
        threads = Array.new(4) { Thread.new { connection.request(:m, []) } }
        ids = talker.hear_many(4).map { |call| call[1] }
        wait_until_asleep(threads)
        answerer = Thread.new do
          ids.unshift(talker.hear[1])
          wait_until_asleep([main])
          Process.kill(:USR2, Process.pid)
          talker.socket.write(ids.map { |id| [1, id, nil, 1].to_msgpack }.join)
          threads.each { |thread| assert_equal(1, thread.value) }
          gate << 1
        end
        assert_equal(1, connection.request(:m, []))
        answerer.join
      ensure
        trap(:USR2, before) if before
      end
    end

    def test_a_follower_that_is_killed_harms_nobody
      with_pair do |connection, talker|
        reader = Thread.new { connection.request(:first, []) }
        first = talker.hear[1]
        follower = Thread.new { connection.request(:second, []) }
        second = talker.hear[1]
        wait_until_asleep([follower])
        follower.kill.join
        talker.answer(second, "dropped")
        talker.answer(first, 1)
        assert_equal(1, reader.value)
      end
    end

    def test_one_after_another_is_killed
      with_pair do |connection, talker|
        threads = Array.new(6) { Thread.new { connection.request(:m, []) } }
        ids = talker.hear_many(6).map { |message| message[1] }
        wait_until_asleep(threads)
        threads.first(5).each { |thread| thread.kill.join }
        ids.each { |id| talker.answer(id, "last") }
        assert_equal("last", threads.last.value)
      end
    end

    def test_a_cancelled_fiber_gives_the_reading_to_another
      skip_without_fibers
      with_pair do |connection, talker|
        answer = Plait.run(on: :fibers) do |scope|
          first = scope.async { connection.request(:first, []) }
          second = scope.async { connection.request(:second, []) }
          ids = Plait.offload { talker.hear_many(2) }.to_h { |_, id, method| [method, id] }
          first.cancel
          Plait.offload { talker.answer(ids["second"], 2) }
          second.value
        end
        assert_equal(2, answer)
        assert_equal(0, connection.pending)
      end
    end

    def test_cancelling_drops_the_answer_not_the_connection
      with_pair do |connection, talker|
        future = connection.call(:m, [])
        waiting = Thread.new { assert_raises(Plait::CancelledError) { future.value } }
        wait_until_asleep([waiting])
        assert(connection.drop(future))
        refute(connection.drop(future))
        waiting.join
        talker.hear
        talker.answer(future.id, "dropped")
        assert_still_usable(connection, talker)
      end
    end

    def test_a_large_answer_that_was_cancelled_half_way
      with_pair do |connection, talker|
        future = connection.call(:large, [])
        talker.hear
        bytes = [1, future.id, nil, "x" * 1_000_000].to_msgpack
        other = connection.call(:small, [])
        reader = Thread.new { other.value }
        talker.socket.write(bytes[0, 500_000])
        wait_until_asleep([reader])
        connection.drop(future)
        talker.socket.write(bytes[500_000..])
        talker.answer(other.id, "right")
        assert_equal("right", reader.value)
      end
    end

    def test_a_large_answer_whose_reader_is_killed_half_way
      with_pair do |connection, talker|
        future = connection.call(:large, [])
        talker.hear
        bytes = [1, future.id, nil, "x" * 1_000_000].to_msgpack
        reader = Thread.new { future.value }
        talker.socket.write(bytes[0, 500_000])
        wait_until_asleep([reader])
        reader.kill.join
        writer = Thread.new { talker.socket.write(bytes[500_000..]) }
        assert_equal("x" * 1_000_000, future.value)
        writer.join
      end
    end
  end
end
