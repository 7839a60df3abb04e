# frozen_string_literal: true

require "test_helper"
require "support/waiting"
require "plait/db"
require_relative "fake_driver"

# To connect may take longer than a caller has: the connection is the next caller's then.
class DBConnectingTest < Minitest::Test
  include Support::Waiting

  # A bridge that connects when the test lets it.
  class Slow < Plait::DB::Fake
    class << self
      # @return [Queue] drivers, or errors to raise
      attr_accessor :gate
      # @return [Array<FakeDriver>] given up in a forked process
      attr_accessor :forgotten
      # @return [Integer] attempts to connect
      attr_accessor :attempts
    end

    private

    def connect
      Slow.attempts += 1
      made = Slow.gate.pop
      made.is_a?(Exception) ? raise(made) : made
    end

    def forget(driver) = Slow.forgotten << driver
  end

  def setup
    Slow.gate = Queue.new
    Slow.forgotten = []
    Slow.attempts = 0
    @db = Plait::DB::Database.new(Slow, Plait::DB.const_get(:Address).parse("fake://here"), { size: 1 })
  end

  def teardown
    Slow.gate.close
    @db.close
  end

  def ask = @db.query("SELECT").rows

  # Ends before there is a connection.
  def hurried = assert_raises(Plait::TimeoutError) { Plait.timeout(0.01) { ask } }

  %i[threads fibers].each do |on|
    define_method(:"test_the_next_caller_gets_what_an_earlier_one_did_not_wait_for_on_#{on}") do
      Plait.run(on: on) do |scope|
        2.times { scope.async { hurried }.value }
        assert_equal([0, 0, 1], @db.statistics.values_at(:idle, :busy, :closing))
        waiting = scope.async { ask }
        scope.async { wait_until { @db.statistics[:waiting] == 1 } }.value
        Slow.gate << FakeDriver.new
        assert_empty(waiting.value)
      end
      assert_equal([1, 0, 0], @db.statistics.values_at(:idle, :busy, :closing))
      assert_equal(1, Slow.attempts)
    end
  end

  def test_it_may_be_ready_long_before_the_next_caller_comes
    hurried
    Slow.gate << FakeDriver.new
    wait_until { @db.statistics[:idle] == 1 }
    assert_empty(ask)
    assert_equal(1, Slow.attempts)
  end

  def test_a_failure_that_no_caller_has_waited_for_is_no_failure_of_the_next
    hurried
    Slow.gate << IOError.new("refused")
    wait_until { @db.statistics[:closing].zero? }
    Slow.gate << FakeDriver.new
    assert_empty(ask)
    assert_equal(2, Slow.attempts)
    assert_equal([1, 0, 0], @db.statistics.values_at(:idle, :busy, :closing))
  end

  def test_a_failure_reaches_its_caller
    Slow.gate << IOError.new("refused")
    assert_raises(IOError) { ask }
    assert_equal([0, 0, 0], @db.statistics.values_at(:idle, :busy, :closing))
  end

  def test_one_that_comes_to_a_closed_database_is_closed
    hurried
    @db.close
    Slow.gate << (driver = FakeDriver.new)
    wait_until { driver.closed? }
  end

  def test_one_that_is_ready_when_the_database_is_closed_is_closed
    hurried
    Slow.gate << (driver = FakeDriver.new)
    wait_until { @db.statistics[:idle] == 1 }
    @db.close
    assert_predicate(driver, :closed?)
  end

  # What a fork does in the child.
  def test_one_that_no_caller_has_taken_is_given_up_in_a_forked_process
    hurried
    Slow.gate << (driver = FakeDriver.new)
    wait_until { @db.statistics[:idle] == 1 }
    @db.pool.with(&:abandon)
    assert_equal([driver], Slow.forgotten)
    Slow.gate << FakeDriver.new
    assert_empty(ask)
    assert_equal(2, Slow.attempts)
  end

  def test_a_transaction_goes_on_with_it
    assert_raises(Plait::TimeoutError) { Plait.timeout(0.01) { @db.transaction { flunk } } }
    Slow.gate << FakeDriver.new
    @db.transaction { |tx| tx.query("INSERT", 1, 2) }
    assert_equal([[1, 2]], ask)
    assert_equal(1, Slow.attempts)
  end
end
