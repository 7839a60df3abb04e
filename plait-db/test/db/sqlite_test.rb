# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require_relative "sql_cases"
require "set"
require "tmpdir"

class DBSqliteTest < Minitest::Test
  include SqlCases

  def setup
    @folder = Dir.mktmpdir("plait-test-")
    super
  end

  # A connection that was cut is closed on a thread of its own, and deletes its journal then.
  def teardown
    super
    wait_until { Plait::DB.const_get(:DetachedCall).threads.count.zero? }
  ensure
    FileUtils.rm_r(@folder)
  end

  def test_a_prepared_statement_keeps_no_values_of_its_last_caller
    insert = db.prepare("INSERT INTO pairs VALUES (?, ?)")
    insert.call(4, "secret")
    assert_match(/1 values were given for 2/, assert_raises(Plait::UsageError) { insert.call(5) }.message)
    db.execute("INSERT INTO pairs VALUES (:id, :word)", { id: 6, word: "secret" })
    db.execute("INSERT INTO pairs VALUES (:id, :word)", { id: 7 })
    assert_nil(word(7))
  end

  def test_several_statements_are_refused
    error = assert_raises(Plait::UsageError) { db.query("DELETE FROM pairs; DELETE FROM pairs") }
    assert_match(/one statement at a time/, error.message)
    assert_equal(3, count)
    assert_equal(3, db.query("SELECT COUNT(*) FROM pairs; -- one ; /* and */ ;").value)
  end

  def test_values_of_ruby
    time = Time.new(2026, 2, 3, 4, 5, 6.5r, "+02:00")
    assert_equal([1, 0, "x", "2026-02-03 02:05:06.500000"], db.query("SELECT ?, ?, ?, ?", true, false, :x, time).rows.first)
    connected = db.statistics[:connected]
    assert_match(/a Set is nothing for SQLite/, assert_raises(Plait::UsageError) { db.execute("SELECT ?", Set.new) }.message)
    assert_equal("one", word(1))
    assert_equal(connected, db.statistics[:connected])
  end

  def test_a_database_in_memory_has_one_connection
    Plait::DB.connect("sqlite::memory:") do |memory|
      memory.query("CREATE TABLE t (n)")
      Plait.map(1..20, on: :fibers) { |n| memory.query("INSERT INTO t VALUES (?)", n) }
      assert_equal([20, 1], [memory.query("SELECT COUNT(*) FROM t").value, memory.statistics[:size]])
    end
    [{ size: 2 }, { max_lifetime: 1 }].each do |options|
      assert_raises(Plait::UsageError) { Plait::DB.connect("sqlite::memory:", **options) }
    end
  end

  # Whatever would wait for SQLite's lock with Ruby's lock held would stop the process.
  def test_a_busy_connection_is_refused_to_other_threads
    db.with do |connection|
      busy = Thread.new { connection.execute(sleeping(0.5)) }
      wait_until { connection.plait_guard.instance_variable_get(:@lock).locked? }
      %i[close errmsg encoding changes total_changes last_insert_row_id transaction_active?].each do |call|
        assert_raises(Plait::DB::ConnectionInUse, call.to_s) { connection.public_send(call) }
      end
      assert_equal([[2_000_000]], busy.value)
    end
  end

  FORK = <<~'RUBY'
    require "plait"
    file = ARGV[0]
    db = Plait::DB.connect("sqlite:#{file}", size: 2)
    db.query("CREATE TABLE forked (n)")
    db.transaction do |tx|
      tx.query("PRAGMA cache_size = 10")
      tx.execute("INSERT INTO forked WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) SELECT x FROM c")
      child = fork do
        lost = begin
          tx.query("SELECT 1")
        rescue Plait::DB::RolledBack
          "lost"
        end
        print lost, " "
        begin
          Plait::DB.connect("sqlite:#{file}?busy_timeout=1") { |own| own.query("INSERT INTO forked VALUES (0)") }
        rescue SQLite3::BusyException
          print "locked "
        end
      end
      Process.wait(child)
      print File.exist?("#{file}-journal"), " "
    end
    print db.query("SELECT COUNT(*) FROM forked").value, " ", db.query("PRAGMA integrity_check").value
  RUBY

  # What the child of a fork does at its end must not undo its parent's transaction, nor delete its journal; and its own
  # connections must see its parent's locks.
  def test_a_fork_in_the_middle_of_a_transaction
    skip("this needs the extension") unless Plait.const_get(:Native).available?

    result = Support::FreshRuby.run(FORK, File.join(@folder, "fork.db"))
    assert_equal("lost locked true 20000 ok", result.out, result.err)
    assert_empty(result.err)
  end

  def test_extensions_can_not_be_loaded_by_sql
    error = assert_raises(::SQLite3::Exception) { db.query("SELECT load_extension('none')") }
    assert_match(/not authorized/, error.message)
  end

  # A statement that is to clean up under a mask gets through, although somebody has sent an error.
  def test_an_interrupt_that_the_caller_has_masked
    asked = Queue.new
    sent = Queue.new
    thread = Thread.new do
      Thread.handle_interrupt(RuntimeError => :never) do
        asked << true
        sent.pop
        asked << db.query(sleeping(0.1)).value
      end
    end
    thread.report_on_exception = false
    asked.pop
    thread.raise(RuntimeError, "late")
    sent << true
    assert_raises(RuntimeError) { thread.join }
    assert_equal(400_000, asked.pop)
  end

  # It is bounded by busy_timeout.
  def test_a_timeout_at_a_commit_that_waits_for_a_lock_rolls_it_back
    %i[threads fibers].each do |on|
      Plait.run(on: on) do
        reading do
          assert_raises(Plait::TimeoutError) { Plait.timeout(0.2) { db.transaction { |tx| add(tx, 4) } } }
        end
        assert_equal(3, count, on)
      end
    end
  end

  # Nobody can commit meanwhile.
  def reading
    connect do |other|
      other.with do |connection|
        statement = connection.prepare("SELECT id FROM pairs")
        statement.step
        yield
      ensure
        statement.close
      end
    end
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

  # In processor time, of which a machine under load gives less, not more: ten statements share a turn, and don't have one
  # each.
  def test_many_statements_at_once_keep_others_waiting_no_longer_than_one
    skip("this needs the extension") unless Plait.const_get(:Native).available?

    connect(size: 10) do |ten|
      longest = Array.new(3) { longest_turn(ten) }.min
      assert_operator(longest, :<, 0.01)
    end
  end

  def longest_turn(database)
    Plait.run(on: :fibers) do |scope|
      tasks = Array.new(10) { scope.async { database.query(sleeping(0.1)) } }
      last = processor_time
      turns = []
      until tasks.all?(&:done?)
        sleep(0.001)
        turns << (processor_time - last)
        last = processor_time
      end
      turns.max
    end
  end

  def processor_time = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

  def test_a_lock_of_another_connection_is_awaited_without_stopping_the_loop
    turns = 0
    Plait.run(on: :fibers) do |scope|
      held = Queue.new
      writer = scope.async { db.transaction { |tx| add(tx, 4) && (held << true) && wait_until { turns > 5 } } }
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

  # The driver's own methods call `step`, too.
  def test_a_killed_thread_ends_in_a_method_of_the_driver
    lived = Queue.new
    began = Queue.new
    thread = Thread.new do
      db.with do |connection|
        began << 1
        connection.execute(sleeping(20))
      rescue StandardError => e
        lived << e
      end
    end
    began.pop
    wait_until { thread.backtrace.to_a.any? { |line| line.include?("turn") } } # in the middle of the statement
    thread.kill.join
    assert_predicate(lived, :empty?)
  end

  INTERRUPTED = <<~RUBY
    require "plait"
    Plait::DB.connect("sqlite::memory:") do |db|
      Thread.new { sleep(0.1) && Process.kill(:INT, Process.pid) }
      db.query(ARGV[0])
    rescue Interrupt
      print "Interrupt"
    end
  RUBY

  def test_ctrl_c_in_the_middle_of_a_statement
    result = Support::FreshRuby.run(INTERRUPTED, sleeping(20))
    assert_equal("Interrupt", result.out, result.err)
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

  # A thread's timeout waits for COMMIT, and says what has become of the transaction. To a fiber it comes where it waits.
  def case_a_timeout_at_commit_is_no_rollback_and_not_tried_again
    return if @on != :threads

    commits = Queue.new
    assert_instance_of(Plait::DB::CommittedLate, commit_slowly { (commits << true) && wait_until { Thread.pending_interrupt? } })
    assert_equal(1, commits.size)
    assert_equal(4, count)
  end

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
