# frozen_string_literal: true

module ConnectionCases
  # How it ends, and what those are told who waited.
  module Endings
    def test_the_end_fails_all_calls_at_once
      with_pair do |connection, talker|
        futures = Array.new(3) { connection.call(:slow, []) }
        threads = futures.map { |future| Thread.new { assert_raises(Plait::ConnectionClosed) { future.value } } }
        talker.hear_many(3)
        wait_until_asleep(threads)
        started = Plait::Deadline.now
        talker.socket.close
        errors = threads.map(&:value)
        assert_operator(Plait::Deadline.now - started, :<, 60)
        assert_equal([false], errors.map(&:retry_safe?).uniq)
        assert_match(/unix:.*closed the connection: slow has no answer, and may have run/, errors.first.message)
        assert_equal("unix:///pair", errors.first.endpoint)
      end
    end

    def test_what_was_not_sent_whole_cannot_have_run
      with_pair(outbox: 1 << 30) do |connection, talker|
        sent = connection.call(:sent, [])
        talker.hear
        threads = Array.new(2) { Thread.new { assert_raises(Plait::ConnectionClosed) { connection.request(:big, ["x" * 10_000_000]) } } }
        wait_until_asleep(threads)
        talker.socket.close
        assert_equal([true, true], threads.map { |thread| thread.value.retry_safe? })
        refute_predicate(assert_raises(Plait::ConnectionClosed) { sent.value }, :retry_safe?)
      end
    end

    def test_calls_after_the_end
      with_pair do |connection, talker|
        talker.socket.close
        assert_raises(Plait::ConnectionClosed) { connection.request(:m, []) }
        error = assert_raises(Plait::ConnectionClosed) { connection.request(:m, []) }
        assert_predicate(error, :retry_safe?)
        assert_raises(Plait::ConnectionClosed) { connection.call(:m, []) }
        assert_raises(Plait::ConnectionClosed) { connection.notify(:m, []) }
        assert_predicate(connection, :closed?)
        assert_predicate(connection.io, :closed?)
      end
    end

    def test_closing_wakes_those_who_wait
      with_pair do |connection, talker|
        threads = Array.new(3) { Thread.new { assert_raises(Plait::ConnectionClosed) { connection.request(:slow, []) } } }
        talker.hear_many(3)
        wait_until_asleep(threads)
        connection.close
        assert_match(/was closed on this side: slow has no answer, and may have run/, threads.map(&:value).first.message)
        assert_predicate(connection.io, :closed?)
        assert_nil(connection.close)
      end
    end

    def test_closing_wakes_fibers
      skip_without_fibers
      with_pair do |connection, talker|
        closer = Thread.new { talker.hear_many(10) && connection.close }
        outcomes = Plait.map(0...10, on: :fibers, limit: 10, on_error: :collect) { connection.request(:slow, []) }
        assert_equal([Plait::ConnectionClosed], outcomes.map { |outcome| outcome.error.class }.uniq)
        closer.join
      end
    end

    def test_answers_before_the_end_are_had
      with_pair do |connection, talker|
        futures = Array.new(3) { connection.call(:m, []) }
        talker.hear_many(3)
        futures.first(2).each { |future| talker.answer(future.id, future.id) }
        talker.socket.close
        assert_equal(futures.first(2).map(&:id), futures.first(2).map(&:value))
        assert_raises(Plait::ConnectionClosed) { futures.last.value }
      end
    end

    def test_an_answer_that_comes_before_all_was_taken
      with_pair do |connection, talker|
        asking = Thread.new { connection.request(:upload, ["x" * 20_000_000]) }
        asking.report_on_exception = false
        talker.socket.readpartial(100)
        talker.say(1, 0, "too large", nil)
        talker.socket.close
        error = assert_raises(Plait::RemoteError, Plait::ConnectionClosed) { asking.value }
        assert_equal("too large", error.message) if error.is_a?(Plait::RemoteError)
      end
    end

    def test_the_end_in_the_middle_of_an_answer
      with_pair do |connection, talker|
        future = connection.call(:m, [])
        talker.hear
        talker.socket.write([1, future.id, nil, "x" * 100].to_msgpack[0, 50])
        talker.socket.close
        error = assert_raises(Plait::TruncatedError) { future.value }
        assert_match(/may have run/, error.message)
        refute_predicate(error, :retry_safe?)
      end
    end

    def test_an_end_at_every_byte_of_an_answer
      answer = [1, 0, nil, "hello"].to_msgpack
      (0...answer.bytesize).each do |at|
        with_pair do |connection, talker|
          future = connection.call(:m, [])
          talker.hear
          talker.socket.write(answer[0, at])
          talker.socket.close
          assert_raises(Plait::ConnectionClosed, Plait::TruncatedError) { future.value }
        end
      end
    end

    def test_what_was_not_sent_when_the_peer_broke_the_protocol_may_be_asked_again
      with_pair do |connection, talker|
        asking = Thread.new { assert_raises(Plait::RemoteProtocolError) { connection.request(:m, ["x" * 8_000_000]) } }
        wait_until { connection.unsent.positive? }
        talker.socket.write("\xc1")
        error = asking.value
        assert_predicate(error, :retry_safe?)
        assert_match(/was not sent/, error.message)
      end
    end

    def test_the_peer_breaks_the_protocol_in_a_client
      with_pair do |connection, talker|
        futures = Array.new(2) { connection.call(:m, []) }
        talker.hear_many(2)
        talker.socket.write("\xc1")
        errors = futures.map { |future| assert_raises(Plait::RemoteProtocolError) { future.value } }
        assert_match(/unix:.*may have run/, errors.first.message)
        assert_equal([:not_array], errors.map(&:rule).uniq)
        assert_predicate(connection.io, :closed?)
      end
    end

    def test_more_than_the_limit
      limits = Plait.const_get(:Protocols)::MessagePackRPC.limits(message: 1000)
      with_pair(limits: limits) do |connection, talker|
        future = connection.call(:m, [])
        talker.hear
        talker.answer(future.id, "x" * 2000)
        assert_equal(:message, assert_raises(Plait::LimitExceeded) { future.value }.limit)
      end
    end

    def test_nothing_is_left_behind
      skip_without_fibers
      assert_no_leaks(fibers: true) do
        with_peer do |connection|
          Plait.map(0...20, on: :fibers, limit: 10) { |i| connection.request(:add, [i]) }
          Array.new(4) { Thread.new { connection.request(:add, [1]) } }.each(&:join)
        end
      end
    end
  end
end
