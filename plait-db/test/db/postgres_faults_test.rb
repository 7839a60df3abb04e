# frozen_string_literal: true

require "test_helper"
require_relative "fault_cases"

class DBPostgresFaultsTest < Minitest::Test
  include FaultCases

  def one_connection(&block) = Plait::DB.connect(url(server_class.shared), size: 1, timeout: 20, check_after: 0, &block)

  %i[threads fibers].each do |on|
    define_method(:"test_a_cut_query_leaves_a_connection_as_good_as_new_on_#{on}") do
      one_connection do |db|
        id = db.query(connection_id).value
        patiently { assert_raises(Plait::TimeoutError) { run_on(on) { Plait.timeout(0.05) { db.query(sleeping(60)) } } } }
        assert_equal([id, 7], [db.query(connection_id).value, db.query("SELECT 7").value])
        assert_equal(1, db.statistics[:connected])
      end
    end
  end

  def test_a_cut_transaction_is_rolled_back_and_its_connection_kept
    one_connection do |db|
      fill(db)
      db.execute("SELECT $1::int", 1)
      id = db.query(connection_id).value
      patiently do
        assert_raises(Plait::TimeoutError) do
          db.transaction do |tx|
            tx.query("INSERT INTO moves VALUES (1)")
            Plait.timeout(0.05) { tx.query(sleeping(60)) }
          end
        end
        wait_until { db.statistics[:closing].zero? }
      end
      assert_equal([id, 0], [db.query(connection_id).value, db.query("SELECT COUNT(*) FROM moves").value])
      assert_equal(2, db.execute("SELECT $1::int", 2).value)
    end
  end

  def test_a_cut_query_leaves_no_lock_and_no_setting
    one_connection do |db|
      traces = "SELECT pg_advisory_lock(8), set_config('plait.x', 'mine', false), pg_sleep(60)"
      patiently { assert_raises(Plait::TimeoutError) { Plait.timeout(0.2) { db.query(traces) } } }
      assert_equal(0, db.query("SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()").value)
      refute_equal("mine", db.query("SELECT current_setting('plait.x', true)").value)
      assert_equal(1, db.statistics[:connected])
    end
  end

  # A server that stands still gets it first, and ignores it.
  def test_a_cancellation_that_comes_before_the_statement
    Plait::DB.connect(url(server_class.shared), size: 1, timeout: 20) do |db| # not checked before each use
      id = db.query(connection_id).value
      going_on = Module.new { define_method(:cancel) { super().tap { Process.kill(:CONT, id) } } }
      db.with { |connection| connection.singleton_class.prepend(going_on) }
      Process.kill(:STOP, id)
      patiently { assert_raises(Plait::TimeoutError) { Plait.timeout(0.05) { db.query(sleeping(60)) } } }
      assert_equal([id, 7], [db.query(connection_id).value, db.query("SELECT 7").value])
      assert_equal(1, db.statistics[:connected])
    ensure
      Process.kill(:CONT, id)
    end
  end

  # Each cancellation is a connection of its own.
  def test_an_answer_under_way_is_cancelled_once
    one_connection do |db|
      cancels = 0
      counting = Module.new { define_method(:cancel) { super().tap { cancels += 1 } } }
      db.with do |connection|
        connection.singleton_class.prepend(counting)
        connection.send_query("SELECT repeat('x', 1000) FROM generate_series(1, 200000)")
        connection.socket_io.wait_readable
        connection.break_off(30)
        assert_equal([1, "7"], [cancels, connection.exec("SELECT 7").getvalue(0, 0)])
      end
    end
  end

  def test_a_copy_is_refused
    one_connection do |db|
      error = assert_raises(Plait::UnsupportedError) { db.query("COPY (SELECT 5) TO STDOUT") }
      assert_match(/copy_data/, error.message)
      assert_equal(7, db.query("SELECT 7").value)
    end
  end

  # The child would say goodbye in the parent's name.
  def test_a_fork_while_a_cut_query_ends
    one_connection do |db|
      db.query("SELECT 1")
      cancel = Plait::DB.const_get(:Postgres).const_get(:Connection).instance_method(:cancel)
      slow = Module.new { define_method(:cancel) { sleep(0.3) && cancel.bind_call(self) } }
      db.with { |connection| connection.singleton_class.prepend(slow) }
      patiently do
        assert_raises(Plait::TimeoutError) { Plait.timeout(0.05) { db.query(sleeping(60)) } }
        Process.wait(fork { GC.start })
        wait_until { db.statistics[:closing].zero? }
      end
      assert_equal(7, db.query("SELECT 7").value)
    end
  end

  # Their settings are not for the next caller.
  def test_a_lent_connection_that_is_cut_is_closed
    one_connection do |db|
      patiently do
        assert_raises(Plait::TimeoutError) do
          db.with do |connection|
            connection.exec("SET statement_timeout = 12345")
            Plait.timeout(0.05) { db.query(sleeping(60)) }
          end
        end
      end
      refute_equal("12345ms", db.query("SHOW statement_timeout").value)
      assert_equal(2, db.statistics[:connected])
    end
  end

  def test_no_answer_of_a_cut_query_reaches_another_caller
    with_database(server_class.shared) do |db|
      random = Random.new(5)
      times = Array.new(600) { random.rand(0.0005..0.02) }
      answers = Plait.map(times.each_with_index, on: :threads, limit: 8, on_error: :collect) do |time, n|
        Plait.timeout(time) { db.query("SELECT #{n}, pg_sleep(0.003)").rows.first.first }
      end
      answers.each_with_index { |outcome, n| assert_equal(n, outcome.value) if outcome.ok? }
      answers.reject(&:ok?).each { |outcome| assert_kind_of(Plait::TimeoutError, outcome.error) }
    end
  end

  private

  def gem = "pg"

  def driver_error = ::PG::Error

  def server_class = Support::PostgresServer

  def url(server) = server.url

  def connection_id = "SELECT pg_backend_pid()"

  def sleeping(seconds) = "SELECT pg_sleep(#{seconds})"

  def kill_sleeper(db)
    pid = db.query("SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(31)' AND state = 'active'").value
    pid && db.query("SELECT pg_cancel_backend(#{pid})")
  end

  def connections = "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"

  def ending(id) = "SELECT pg_terminate_backend(#{id})"

  def counting(id) = "#{connections} AND pid = #{id}"

  def other_user(&block)
    server = server_class.shared
    Plait::DB.connect(server.url.sub("postgres@", "few@"), size: 1) { |db| block.call(db.query("SELECT 1").value) }
  end

  def hold_all_connections
    with_database(server_class.shared) do |root|
      root.query("CREATE ROLE few LOGIN CONNECTION LIMIT 1")
      Plait::DB.connect(server_class.shared.url.sub("postgres@", "few@"), size: 1) do |held|
        held.query("SELECT 1")
        yield
      end
    ensure
      root.query("DROP ROLE few")
    end
  end
end
