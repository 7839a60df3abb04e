# frozen_string_literal: true

require_relative "../test_helper"
require_relative "sql_cases"
require "tmpdir"

class DBSqliteTest < Minitest::Test
  include SqlCases

  def setup
    @folder = Dir.mktmpdir("plait-test-")
    super
  end

  def teardown
    super
    FileUtils.rm_r(@folder)
  end

  def test_a_prepared_statement_keeps_no_values_of_its_last_caller
    insert = db.prepare("INSERT INTO pairs VALUES (?, ?)")
    insert.call(4, "secret")
    insert.call(5)
    assert_nil(word(5))
  end

  def test_a_connection_that_was_cut_keeps_no_lock
    db.execute("SELECT COUNT(*) FROM pairs")
    assert_raises(Plait::TimeoutError) { Plait.timeout(0.05) { db.transaction { |tx| add(tx, 4) && tx.execute(sleeping(5)) } } }
    assert_equal(1, add(connect, 5).affected)
    assert_equal(4, count)
  end

  # What is measured is whether others get a turn at all; a machine under load has longer turns.
  def test_other_fibers_and_threads_get_their_turn
    { fibers: 0.002, threads: 0.002 }.each do |on, pause|
      turns = 0
      Plait.run(on: on) do |scope|
        task = scope.async { db.query(sleeping(0.3)).value }
        until task.done?
          sleep(pause)
          turns += 1
        end
        assert_equal(1_200_000, task.value)
      end
      assert_operator(turns, :>, 5, on)
    end
  end

  def test_a_lock_of_another_connection_is_awaited_without_stopping_the_loop
    turns = 0
    Plait.run(on: :fibers) do |scope|
      held = Queue.new
      writer = scope.async { db.transaction { |tx| add(tx, 4) && (held << true) && sleep(0.2) } }
      held.pop
      second = scope.async { db.transaction { |tx| add(tx, 5) } }
      turns += 1 while !writer.done? && sleep(0.005)
      second.value
    end
    assert_operator(turns, :>, 5)
    assert_equal(5, count)
  end

  def test_a_lock_that_stays_is_an_error
    connect(busy_timeout: 20) do |impatient|
      db.transaction do |tx|
        add(tx, 4)
        assert_raises(::SQLite3::BusyException) { Thread.new { add(impatient, 5) }.tap { |t| t.report_on_exception = false }.value }
      end
    end
    assert_equal(4, count)
  end

  def test_a_kill_in_the_middle_of_a_statement
    thread = Thread.new { db.transaction { |tx| add(tx, 4) && tx.query(sleeping(20)) } }
    wait_until { db.statistics[:busy] == 1 && thread.status == "run" }
    thread.kill.join
    assert_equal([0, 0], db.statistics.values_at(:busy, :idle))
    assert_equal(3, count)
  end

  def test_a_database_for_reading
    connect(readonly: true) do |reader|
      assert_equal("two", reader.transaction { |tx| tx.query("SELECT word FROM pairs WHERE id = ?", 2).value })
      assert_raises(::SQLite3::ReadOnlyException) { add(reader, 4) }
    end
  end

  private

  def gem = "sqlite3"

  def driver = ::SQLite3::Database

  def server_error = ::SQLite3::Exception

  def url = "sqlite:#{@folder}/test.db?busy_timeout=20000"

  def raw(connection, sql) = connection.execute(sql)

  # It has no sleep: it counts, for much longer than any test lasts if `seconds` are many.
  def sleeping(seconds)
    rows = Integer(seconds * 4_000_000)
    "SELECT (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < #{rows}) SELECT COUNT(*) FROM c)"
  end
end
