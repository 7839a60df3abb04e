# frozen_string_literal: true

module ConnectionCases
  # What is done with an answer for which nobody waits.
  module Following
    def test_what_is_followed_is_late_when_its_time_is_over
      in_growing_times(0.1, 1, 10) do |time|
        with_pair do |connection, talker|
          told = Thread::Queue.new
          futures = [2 * time, time].map { |seconds| connection.call(:slow, [], limit: Plait::Deadline.now + seconds) }
          futures.each { |future| future.follow { |one| told << [one, one.error.class] } }
          assert_equal(futures.reverse.map { |future| [future, Plait::ReadTimeout] }, Array.new(2) { told.pop })
          derived = connection.call(:slow, [], limit: Plait::Deadline.now + 0.1).then { flunk("there is no value") }
          assert_instance_of(Plait::ReadTimeout, derived.error)
          assert_equal(0, connection.pending)
          assert_still_usable(connection, talker, skip: 3)
        end
      end
    end

    def test_what_is_followed_after_the_end
      assert_no_leaks do
        with_pair do |connection, talker|
          before, after = Array.new(2) { connection.call(:m, []) }
          before.then { flunk("there is no value") }
          talker.socket.close
          assert_instance_of(Plait::ConnectionClosed, before.error)
          3.times { assert_instance_of(Plait::ConnectionClosed, after.then { flunk("there is no value") }.error) }
        end
      end
    end

    def test_what_is_first_followed_after_the_end
      assert_no_leaks do
        with_pair do |connection, talker|
          future = connection.call(:m, [])
          talker.socket.close
          future.join
          assert_instance_of(Plait::ConnectionClosed, future.then { flunk("there is no value") }.error)
        end
      end
    end

    def test_a_block_that_fails_in_whatever_way_is_its_own_business
      with_pair do |connection, talker|
        ways = [-> { raise NotImplementedError, "not yet" }, -> { Thread.exit }, -> { throw :nowhere }, -> { exit(3) }]
        raised = ways.map { |way| raised_by(answered(connection, talker).then { way.call }) }
        assert_equal([NotImplementedError, Plait::CancelledError, UncaughtThrowError, SystemExit], raised)
        answered(connection, talker).follow { Thread.exit }
        answered(connection, talker).follow { raise_quietly }
        assert_equal(1, answered(connection, talker).then { |value| value }.value)
      end
    end

    def test_what_a_server_follows
      reception = Serving::Reception.new
      with_pair(dispatcher: reception) do |connection, talker|
        future = connection.call(:m, [])
        derived = future.then { |value| value + 1 }
        talker.answer(future.id, 1)
        wait_until { connection.read_available && derived.ready? }
        assert_equal(2, derived.value)
      end
    end

    def test_what_is_followed_in_a_fork
      skip("there is no fork here") unless Process.respond_to?(:fork)
      with_pair do |connection, talker|
        future = connection.call(:m, [])
        derived = future.then { |value| value }
        pid = fork { exit!(future.then { 1 }.error.is_a?(Plait::ConnectionClosed)) }
        assert_predicate(Process.wait2(pid).last, :success?)
        talker.answer(future.id, 1)
        assert_equal(1, derived.value)
      end
    end

    private

    def answered(connection, talker)
      connection.call(:m, []).tap { |future| talker.answer(future.id, 1) }
    end

    def raise_quietly
      Thread.current.report_on_exception = false
      raise "no"
    end

    def raised_by(derived)
      derived.value
    rescue Exception => e
      e.class
    end
  end
end
