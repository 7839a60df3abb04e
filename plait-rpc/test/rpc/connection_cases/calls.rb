# frozen_string_literal: true

module ConnectionCases
  # Calls, and who shares the connection.
  module Calls
    Protocols = Plait.const_get(:Protocols)
    def test_a_call
      with_peer { |connection| assert_equal(3, connection.request(:add, [1, 2])) }
    end

    def test_what_is_sent
      with_pair do |connection, talker|
        connection.notify(:log, ["x", nil])
        future = connection.call("add", [1, { "a" => [2.5, true] }])
        assert_equal([[2, "log", ["x", nil]], [0, future.id, "add", [1, { "a" => [2.5, true] }]]], talker.hear_many(2))
      end
    end

    def test_answers_in_any_order
      with_pair do |connection, talker|
        futures = Array.new(5) { |i| connection.call(:echo, [i]) }
        talker.hear_many(5).reverse_each { |_, id, _, (value)| talker.answer(id, value) }
        assert_equal([0, 1, 2, 3, 4], futures.map(&:value))
      end
    end

    def test_a_future_may_be_asked_again_and_by_many
      with_pair do |connection, talker|
        future = connection.call(:ask, [])
        threads = Array.new(4) { Thread.new { future.value } }
        wait_until_asleep(threads)
        talker.answer(future.id, [1])
        assert_equal([[1]] * 4, threads.map(&:value))
        assert_equal([1], future.value)
      end
    end

    def test_threads_share_a_connection
      with_peer do |connection|
        threads = Array.new(12) { |t| Thread.new { Array.new(60) { |i| connection.request(:add, [t * 1000, i]) } } }
        threads.each_with_index { |thread, t| assert_equal(Array.new(60) { |i| (t * 1000) + i }, thread.value) }
        assert_predicate(connection, :idle?)
      end
    end

    def test_fibers_share_a_connection
      skip_without_fibers
      with_peer do |connection|
        sums = Plait.map(0...600, on: :fibers, limit: 100) { |i| connection.request(:add, [i, 1]) }
        assert_equal((1..600).to_a, sums)
      end
    end

    def test_threads_and_fibers_share_a_connection
      skip_without_fibers
      with_peer do |connection|
        threads = Array.new(3) do |t|
          Thread.new { Plait.map(0...100, on: :fibers, limit: 20) { |i| connection.request(:add, [t * 1000, i]) } }
        end
        threads += Array.new(3) { |t| Thread.new { Array.new(100) { |i| connection.request(:add, [t * 1000, i]) } } }
        threads.each_with_index { |thread, t| assert_equal(Array.new(100) { |i| (t % 3 * 1000) + i }, thread.value) }
      end
    end

    def test_large_and_small_ones_share_a_connection
      with_peer(echo) do |connection|
        threads = Array.new(6) do |t|
          Thread.new { Array.new(10) { |i| connection.request(:echo, [[t, i, (t + i).to_s * (i.odd? ? 300_000 : 3)]]) } }
        end
        threads.each_with_index do |thread, t|
          expected = Array.new(10) { |i| [t, i, (t + i).to_s * (i.odd? ? 300_000 : 3)] }
          assert_equal(expected, thread.value)
        end
      end
    end

    def test_futures_of_other_threads_are_settled_by_who_reads
      with_pair do |connection, talker|
        first = connection.call(:first, [])
        second = connection.call(:second, [])
        talker.answer(first.id, 1)
        talker.answer(second.id, 2)
        assert_equal(2, second.value)
        assert_predicate(first, :settled?)
      end
    end

    def test_what_cannot_be_packed_is_not_sent
      with_pair do |connection, talker|
        assert_raises(Protocols::MessagePackRPC::PackError) { connection.call(:m, [Object.new]) }
        assert_raises(Plait::LocalProtocolError) { connection.call(7, []) }
        connection.notify(:after, [])
        assert_equal([2, "after", []], talker.hear)
        assert_predicate(connection, :idle?)
      end
    end

    def test_an_answer_that_cannot_be_unpacked_is_an_error_of_that_call
      codec = Protocols::MessagePackRPC::Codec.new { |factory| factory.register_type(1, Struct.new(:x), unpacker: ->(_) { raise "no" }) }
      with_pair(codec: codec) do |connection, talker|
        bad = connection.call(:bad, [])
        good = connection.call(:good, [])
        talker.answer(bad.id, MessagePack::ExtensionValue.new(1, "x"))
        talker.answer(good.id, 1)
        assert_equal("no", assert_raises(RuntimeError) { bad.value }.message)
        assert_equal(1, good.value)
      end
    end

    def test_errors_of_the_peer
      with_pair do |connection, talker|
        future = connection.call(:find, [7])
        talker.say(1, future.id, { "code" => 3, "message" => "none", "data" => [1] }, nil)
        error = assert_raises(Plait::RemoteError) { future.value }
        assert_equal([3, "none", [1]], [error.code, error.message, error.data])
        assert_equal([:find, "unix:///pair"], [error.method_name, error.endpoint])
        refute_same(error, assert_raises(Plait::RemoteError) { future.value })
      end
    end

    def test_answers_that_nobody_asked_for_are_passed_over
      with_pair do |connection, talker|
        future = connection.call(:ask, [])
        asking = Thread.new { future.value }
        talker.answer(99, "x")
        talker.answer(98, "y" * 300_000)
        talker.answer(future.id, 1)
        assert_equal(1, asking.value)
      end
    end

    def test_requests_where_nobody_takes_any_are_refused
      with_pair do |connection, talker|
        future = connection.call(:ask, [])
        talker.hear
        talker.request(5, "run")
        talker.say(2, "told", [])
        talker.answer(future.id, 1)
        assert_equal(1, future.value)
        assert_equal([1, 5, "this client takes no requests: run", nil], talker.hear)
      end
    end

    def test_ids_are_not_given_twice_while_in_use
      with_pair do |connection, talker|
        futures = Array.new(100) { connection.call(:m, []) }
        assert_equal(100, futures.map(&:id).uniq.size)
        assert_equal(100, connection.pending)
        futures.each { |future| talker.answer(future.id, future.id) }
        assert_equal(futures.map(&:id), futures.map(&:value))
        assert_equal(0, connection.pending)
      end
    end
  end
end
