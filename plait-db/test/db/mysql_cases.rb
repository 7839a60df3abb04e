# frozen_string_literal: true

# What is true of MySQL and MariaDB by both drivers.
module MysqlCases
  def test_what_nobody_reads_of_a_procedure_is_nobody_elses
    db.query("CREATE OR REPLACE PROCEDURE thrice() BEGIN SELECT 1 AS n; SELECT 2 AS n; SELECT 3 AS n; END")
    5.times do |number|
      assert_equal(1, db.query("CALL thrice()").value)
      assert_equal(number, db.query("SELECT #{number}").value)
    end
  end

  # The text of a value must not become a part of the statement.
  def test_a_server_that_takes_no_backslash_for_an_escape
    connect do |database|
      database.with do |connection|
        connection.query("SET sql_mode = 'NO_BACKSLASH_ESCAPES'")
        row = database.query("SELECT '\\', ?, '?'", "' OR 1 = 1 -- \\").rows.first
        assert_equal(["\\", "' OR 1 = 1 -- \\", "?"], row)
      end
    end
  end

  def test_times_come_back_as_they_went
    db.query("CREATE OR REPLACE TABLE moments (at DATETIME(6))")
    [Time.new(2026, 7, 8, 9, 10, 11.25r, "+05:00"), Time.utc(2026, 1, 2, 3, 4, 5)].each do |time|
      db.query("INSERT INTO moments VALUES (?)", time)
      assert_equal(time.to_r, db.query("SELECT at FROM moments").value.to_r)
      db.query("DELETE FROM moments")
    end
  end

  def test_states_that_would_stay_are_refused
    ["SET autocommit = 0", "set session autocommit=0", "LOCK TABLES pairs WRITE", "start transaction", "XA START 1"].each do |sql|
      assert_raises(Plait::UsageError, sql) { db.query(sql) }
    end
    assert_equal(1, db.query("SELECT @@autocommit").value)
  end

  def test_a_comment_hides_no_such_statement
    ["/* app:shop */ BEGIN", "-- a\n--\tb\n\n# c */\n begin", "/* 1 */\n/* 2\n */SET autocommit=0",
     "/**/START TRANSACTION"].each do |sql|
      assert_raises(Plait::UsageError, sql) { db.query(sql) }
    end
    ["/* BEGIN */ SELECT 1", "# SELECT\nSELECT 1", "-- BEGIN\nSELECT 1"].each { |sql| assert_equal(1, db.query(sql).value, sql) }
  end

  class Late < StandardError; end

  # As `Timeout.timeout(1, Late) { db.transaction { … } }`, whose time is over just then.
  def test_an_interrupt_behind_begin_leaves_no_open_transaction
    late = nil
    session = Class.new(Plait::DB.const_get(gem.capitalize)) do
      define_method(:control) { |driver, sql| super(driver, sql).tap { late = sql == "BEGIN" if late.nil? } }
      define_method(:call) { |&block| super(&block).tap { late && raise(Late) } }
      private :control, :call
    end
    one = Plait::DB::Database.new(session, Plait::DB.const_get(:Address).parse(url), { size: 1 })
    assert_raises(Late) { one.transaction { flunk } }
    late = false
    add(one, 4)
    assert_equal(4, count)
    one.transaction { |tx| add(tx, 5) }
    before = one.statistics[:connected]
    assert_raises(Late) { one.transaction { raise Late } }
    assert_equal([5, before], [count, one.statistics[:connected]], "one that was rolled back goes on")
  ensure
    one&.close
  end

  # With innodb_rollback_on_timeout the server rolls back all of it, else the statement alone, and does not say which.
  def test_a_lock_that_was_awaited_for_too_long_ends_the_transaction
    db.transaction do |tx|
      tx.query("UPDATE pairs SET word = 'held' WHERE id = 1")
      Thread.new { assert_raises(Plait::DB::RolledBack) { go_on_after_a_lock } }.join
    end
    assert_equal(3, count)
  end

  # At the same address another server may answer, where the number is somebody else's connection.
  def test_only_the_server_that_was_asked_is_told_to_end_a_query
    session = connect(size: 1).pool.checkout
    other = connect(size: 1).pool.checkout
    other.query("SELECT 1")
    identity = other.instance_variable_get(:@identity)
    session.send(:break_off, nil, identity.dup.tap { |elsewhere| elsewhere.server = ["elsewhere", *identity.server.drop(1)] })
    assert_equal(1, other.query("SELECT 1").value)
    session.send(:break_off, nil, identity)
    assert_raises(server_error) { 100.times { other.query("SELECT SLEEP(0.1)") } }
  ensure
    [session, other].compact.each(&:close)
  end

  private

  def go_on_after_a_lock
    connect do |database|
      database.transaction do |tx|
        add(tx, 4)
        tx.query("SET innodb_lock_wait_timeout = 1")
        assert_raises(server_error) { tx.query("UPDATE pairs SET word = 'late' WHERE id = 1") }
        add(tx, 5)
      end
    end
  end
end
