# frozen_string_literal: true

module ConnectionCases
  # Time.
  module Deadlines
    # Seconds: what clocks that are read at different moments take off, and a busy machine may add; without an end it would take
    # as long as the test may.
    EARLY = 0.005
    LATE = 60

    def test_no_answer_in_time
      with_pair do |connection, talker|
        error = assert_in_time(0.1) { assert_raises(Plait::ReadTimeout) { connection.request(:slow, [], limit: now + 0.1) } }
        assert_match(/unix:.*did not answer slow in time/, error.message)
        refute_predicate(error, :retry_safe?)
        assert_equal(0, connection.pending)
        assert_still_usable(connection, talker, skip: 1)
      end
    end

    def test_an_answer_that_comes_too_late_reaches_nobody
      with_pair do |connection, talker|
        assert_raises(Plait::ReadTimeout) { connection.request(:slow, [], limit: now + 0.05) }
        id = talker.hear[1]
        next_one = connection.call(:fast, [])
        talker.answer(id, "too late")
        talker.answer(next_one.id, "right")
        assert_equal("right", next_one.value)
      end
    end

    def test_each_has_a_time_of_its_own
      with_pair do |connection, talker|
        seconds = [0.25, 0.05, 0.15]
        threads = seconds.map { |time| Thread.new { late_after(connection, time) } }
        talker.hear_many(3)
        threads.zip(seconds) { |thread, time| assert_timely(time, thread.value) }
        assert_still_usable(connection, talker)
      end
    end

    def test_each_fiber_has_a_time_of_its_own
      skip_without_fibers
      with_pair do |connection, talker|
        seconds = [0.25, 0.05, 0.15, 0.1, 0.3]
        times = Plait.map(seconds, on: :fibers, limit: 5) { |time| late_after(connection, time) }
        times.zip(seconds) { |took, time| assert_timely(time, took) }
        talker.hear_many(5)
        assert_still_usable(connection, talker)
      end
    end

    def test_who_leaves_late_gives_the_reading_to_another
      with_pair do |connection, talker|
        first = Thread.new { assert_raises(Plait::ReadTimeout) { connection.request(:first, [], limit: now + 0.1) } }
        talker.hear
        second = Thread.new { connection.request(:second, []) }
        id = talker.hear[1]
        first.join
        talker.answer(id, 2)
        assert_equal(2, second.value)
      end
    end

    def test_a_future_that_is_asked_too_late
      with_pair do |connection, talker|
        future = connection.call(:slow, [], limit: now + 0.05)
        talker.hear
        sleep(0.06)
        2.times { assert_raises(Plait::ReadTimeout) { future.value } }
        assert_equal(0, connection.pending)
      end
    end

    def test_an_answer_that_is_there_is_never_late
      with_pair do |connection, talker|
        future = connection.call(:fast, [], limit: now + 0.05)
        talker.answer(future.id, 1)
        sleep(0.06)
        assert_equal(1, future.value)
      end
    end

    def test_ambient_timeouts
      with_pair do |connection, talker|
        assert_raises(Plait::TimeoutError) { Plait.timeout(0.05) { connection.request(:slow, []) } }
        assert_equal(0, connection.pending)
        assert_still_usable(connection, talker, skip: 1)
      end
    end

    def test_ambient_timeouts_of_fibers
      skip_without_fibers
      with_pair do |connection, talker|
        errors = Plait.map([1, 2, 3], on: :fibers, limit: 3) do
          Plait.timeout(0.05) { connection.request(:slow, []) }
        rescue Plait::TimeoutError => e
          e.class
        end
        assert_equal([Plait::TimeoutError] * 3, errors)
        assert_equal(0, connection.pending)
        assert_still_usable(connection, talker, skip: 3)
      end
    end

    private

    def now = Plait::Deadline.now

    def late_after(connection, seconds)
      started = now
      assert_raises(Plait::ReadTimeout) { connection.request(:slow, [], limit: started + seconds) }
      now - started
    end

    def assert_in_time(seconds)
      started = now
      result = yield
      assert_timely(seconds, now - started)
      result
    end

    def assert_timely(seconds, took) = assert_includes((seconds - EARLY)..(seconds + LATE), took)
  end
end
