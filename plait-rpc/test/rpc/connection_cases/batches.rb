# frozen_string_literal: true

module ConnectionCases
  # Many calls that leave together, and whose results are wanted together.
  module Batches
    def test_a_batch
      with_pair do |connection, talker|
        batch = connection.batch(:echo, [[1], 2, ["x" * 100_000], [nil], [{ "a" => 1 }], [[3]]])
        calls = talker.hear_many(6)
        assert_equal([[1], [2], ["x" * 100_000], [nil], [{ "a" => 1 }], [[3]]], calls.map(&:last))
        assert_equal(%w[echo], calls.map { |call| call[2] }.uniq)
        calls.reverse_each { |_, id, _, (value)| talker.answer(id, value) }
        assert_equal([1, 2, "x" * 100_000, nil, { "a" => 1 }, [3]], batch.values)
        assert_equal(batch.values, batch.values)
        assert_still_usable(connection, talker)
      end
    end

    # Several threads send batches and single calls: each call gets its own answer.
    def test_batchs_share_a_connection
      with_peer do |connection|
        threads = Array.new(6) do |thread|
          Thread.new do
            Array.new(30) do |round|
              sums = connection.batch(:add, Array.new(20) { |number| [thread, round, number] }).values
              sums << connection.request(:add, [thread, round])
            end
          end
        end
        threads.each_with_index do |thread, number|
          expected = Array.new(30) { |round| Array.new(20) { |i| number + round + i } << (number + round) }
          assert_equal(expected, thread.value)
        end
        assert_equal(0, connection.pending)
      end
    end

    def test_an_error_in_a_batch
      with_pair do |connection, talker|
        batch = connection.batch(:ask, [1, 2, 3])
        ids = talker.hear_many(3).map { |call| call[1] }
        talker.answer(ids[0], 1)
        talker.say(1, ids[1], "no", nil)
        talker.answer(ids[2], 3)
        assert_equal("no", assert_raises(Plait::RemoteError) { batch.values }.message)
        assert_still_usable(connection, talker)
      end
    end

    def test_a_batch_that_is_late
      with_pair do |connection, talker|
        batch = connection.batch(:slow, [1, 2], limit: Plait::Deadline.now + 0.1)
        ids = talker.hear_many(2).map { |call| call[1] }
        talker.answer(ids[0], 1)
        assert_match(/did not answer slow in time/, assert_raises(Plait::ReadTimeout) { batch.values }.message)
        batch.cancel
        assert_equal(0, connection.pending)
        talker.answer(ids[1], 2)
        assert_still_usable(connection, talker)
      end
    end

    def test_a_batch_that_is_cancelled
      with_pair do |connection, talker|
        batch = connection.batch(:slow, [1, 2])
        thread = Thread.new { assert_raises(Plait::CancelledError) { batch.values } }
        ids = talker.hear_many(2).map { |call| call[1] }
        wait_until_asleep([thread])
        batch.cancel
        thread.join
        assert_equal(0, connection.pending)
        ids.each { |id| talker.answer(id, "late") }
        assert_still_usable(connection, talker)
      end
    end

    def test_the_end_during_a_batch
      with_pair do |connection, talker|
        batch = connection.batch(:slow, [1, 2, 3])
        id = talker.hear_many(3).first[1]
        talker.answer(id, 1)
        talker.socket.close
        error = assert_raises(Plait::ConnectionClosed) { batch.values }
        refute_predicate(error, :retry_safe?)
        assert_match(/slow has no answer, and may have run/, error.message)
      end
    end

    # Some of it is sent when the rest no longer can be: it must not be sent again.
    def test_the_end_while_a_batch_is_sent
      with_pair(outbox: 100_000) do |connection, talker|
        thread = Thread.new { assert_raises(Plait::ConnectionClosed) { connection.batch(:big, ["x" * 60_000] * 100).values } }
        talker.hear
        wait_until_asleep([thread])
        talker.socket.close
        refute_predicate(thread.value, :retry_safe?)
      end
    end

    def test_a_batch_after_the_end
      with_pair do |connection, _|
        connection.close
        assert_predicate(assert_raises(Plait::ConnectionClosed) { connection.batch(:add, [1, 2]) }, :retry_safe?)
      end
    end

    def test_what_cannot_be_packed_ends_a_batch
      with_pair do |connection, talker|
        assert_raises(Plait::RPC::PackError) { connection.batch(:ask, [1, Object.new, 3]) }
        assert_equal(0, connection.pending)
        future = connection.call(:still, [])
        talker.answer((call = talker.hear)[1], "usable") until call && call[2] == "still"
        assert_equal("usable", future.value)
      end
    end

    def test_killed_while_it_waits_for_a_batch
      with_pair do |connection, talker|
        killed, other = Array.new(2) { |i| Thread.new { connection.batch(:ask, [i, i]).values } }
        calls = talker.hear_many(4)
        wait_until_asleep([killed, other])
        killed.kill.join
        calls.each { |_, id, _, (value)| talker.answer(id, value) }
        assert_equal([1, 1], other.value)
        assert_still_usable(connection, talker)
      end
    end
  end
end
