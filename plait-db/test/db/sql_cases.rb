# frozen_string_literal: true

require "support/mariadb_server"
require "support/postgres_server"
require "plait/db"

# What every bridge to a database with SQL has to do, on threads, in fibers and under :hybrid. A test says which by `url`, and
# how its server writes things.
module SqlCases
  # Ways to run a case: the block itself on the test's thread, or in a fiber.
  ON = %i[threads fibers hybrid].freeze

  def self.included(test)
    ON.each { |on| private_instance_methods.grep(/\Acase_/).each { |name| define_for(test, name, on) } }
  end

  def self.define_for(test, name, on)
    test.define_method(name.to_s.sub("case_", "test_") + "_on_#{on}") do
      @on = on
      Plait.run(on: on) { send(name) }
    end
  end
  private_class_method :define_for

  def setup
    need(gem)
    fill
  end

  def teardown
    @db&.close
    super
  end

  private

  # What a test says:
  def gem = raise(NotImplementedError)
  def driver = raise(NotImplementedError)
  def server_error = raise(NotImplementedError)
  def busy_error = Plait::DB::ConnectionInUse
  def url = raise(NotImplementedError)
  def holder(_number) = "?"
  def sleeping(seconds) = "SELECT SLEEP(#{seconds})"
  def raw(connection, sql) = connection.query(sql)

  def need(gem)
    require gem
  rescue LoadError
    skip("the gem #{gem} is not installed: bin/setup test drivers")
  end

  def db = @db ||= connect

  def connect(**options, &block) = Plait::DB.connect(url, size: 4, **options, &block)

  def fill
    connect do |database|
      database.query("DROP TABLE IF EXISTS pairs")
      database.query("CREATE TABLE pairs (id INTEGER PRIMARY KEY, word VARCHAR(40))")
      database.query("INSERT INTO pairs VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    end
  end

  def word(id) = db.query("SELECT word FROM pairs WHERE id = #{holder(1)}", id).value

  def count = Integer(db.query("SELECT COUNT(*) FROM pairs").value)

  def add(target, id) = target.query("INSERT INTO pairs VALUES (#{holder(1)}, 'more')", id)

  def case_rows
    result = db.query("SELECT id, word FROM pairs ORDER BY id")
    assert_equal(%w[id word], result.columns)
    assert_equal([1, "one"], result.rows.first)
    assert_equal({ "id" => 2, "word" => "two" }, result.to_a[1])
    assert_equal(3, result.size)
    assert_empty(db.query("SELECT id FROM pairs WHERE id > 5"))
  end

  def case_values
    text = "it's \\ \" ? \u00e4\n"
    db.query("INSERT INTO pairs VALUES (#{holder(1)}, #{holder(2)})", 4, text)
    assert_equal(text, word(4))
    db.query("INSERT INTO pairs VALUES (#{holder(1)}, #{holder(2)})", 5, nil)
    assert_nil(word(5))
    assert_equal(2, db.query("UPDATE pairs SET word = #{holder(1)} WHERE id > #{holder(2)}", "big", 3).affected)
  end

  def case_prepared
    named = db.prepare("SELECT word FROM pairs WHERE id = #{holder(1)}")
    assert_equal(%w[one two three one], [1, 2, 3, 1].map { |id| named.call(id).value })
    assert_equal("two", db.execute(named.sql, 2).value)
    db.transaction { |tx| assert_equal("three", tx.prepare(named.sql).call(3).value) }
    (1..300).each { |n| assert_equal(n, Integer(db.execute("SELECT #{n}").value)) } # more than it keeps
    assert_equal("one", named.call(1).value)
  end

  def case_a_prepared_statement_sees_its_table_change
    all = db.prepare("SELECT * FROM pairs WHERE id = #{holder(1)}")
    assert_equal([{ "id" => 1, "word" => "one" }], all.call(1).to_a)
    db.query("ALTER TABLE pairs ADD COLUMN more INTEGER")
    assert_equal([{ "id" => 1, "word" => "one", "more" => nil }], all.call(1).to_a)
    db.query("ALTER TABLE pairs DROP COLUMN word")
    assert_equal([{ "id" => 1, "more" => nil }], all.call(1).to_a)
  end

  def case_an_error_of_the_server_leaves_the_connection
    before = nil
    2.times do
      assert_raises(server_error) { add(db, 1) }
      before ||= db.statistics[:connected]
    end
    assert_equal(3, count)
    assert_equal([before, 0], db.statistics.values_at(:connected, :stale))
  end

  def case_a_transaction_is_committed
    assert_equal(:done, db.transaction { |tx| add(tx, 4) && add(db, 5) && :done })
    assert_equal(5, count)
  end

  def case_a_transaction_is_rolled_back
    assert_raises(KeyError) { db.transaction { |tx| add(tx, 4) && raise(KeyError) } }
    catch(:out) { db.transaction { |tx| add(tx, 4) && throw(:out) } }
    [1].each { db.transaction { |tx| add(tx, 4) && break } }
    assert_raises(server_error) { db.transaction { |tx| add(tx, 4) && add(tx, 1) } }
    assert_equal(3, count)
  end

  def case_a_savepoint
    db.transaction do |tx|
      add(tx, 4)
      assert_raises(KeyError) { tx.transaction { |inner| add(inner, 5) && raise(KeyError) } }
      db.transaction { |inner| add(inner, 6) }
      assert_raises(server_error) { db.transaction { add(db, 1) } }
      add(tx, 7)
    end
    assert_equal([1, 2, 3, 4, 6, 7], db.query("SELECT id FROM pairs ORDER BY id").rows.flatten)
  end

  def case_a_transaction_belongs_to_its_fiber_and_block
    kept = db.transaction do |tx|
      [Fiber.new { tx.query("SELECT 1") }.method(:resume), -> { Thread.new { tx.query("SELECT 1") }.value }].each do |use|
        Thread.report_on_exception = false
        error = assert_raises(Plait::DB::ConnectionInUse) { use.call }
        assert_match(/belongs to another fiber/, error.message)
      end
      tx
    end
    assert_match(/is over/, assert_raises(Plait::UsageError) { kept.query("SELECT 1") }.message)
  ensure
    Thread.report_on_exception = true
  end

  def case_a_timeout_ends_a_transaction
    assert_raises(Plait::TimeoutError) do
      Plait.timeout(0.2) { db.transaction { |tx| add(tx, 4) && tx.query(sleeping(20)) } }
    end
    assert_undone
  end

  def case_a_cancellation_ends_a_transaction
    begun = Queue.new
    task = nil
    Plait.run(on: @on) do |scope|
      task = scope.async { db.transaction { |tx| add(tx, 4) && (begun << true) && tx.query(sleeping(20)) } }
      begun.pop
      task.cancel
    end
    refute_predicate(task, :ok?)
    assert_undone
  end

  # A timeout before COMMIT is tried again, one after it is not.
  def case_a_timeout_at_commit_is_no_rollback_and_not_tried_again
    commits = Queue.new
    id = 3
    error = commit_slowly(id += 1) { (commits << true) && sleep } while commits.empty? # a busy machine cuts COMMIT itself
    assert_instance_of(Plait::DB::CommitUnknown, error)
    refute_predicate(error, :retry_safe?)
    assert_equal(1, commits.size)
    wait_until { word(id) == "more" }
  end

  # @param id [Integer] of the row that it adds
  # @yield on each connection after its COMMIT
  # @return [Exception, nil] of a transaction that has a time limit, and is tried again
  def commit_slowly(id = 4, &after)
    slow = Class.new(db.pool.with(&:class)) do
      define_method(:commit) { |driver| super(driver).tap(&after) }
      private :commit
    end
    one = Plait::DB::Database.new(slow, Plait::DB.const_get(:Address).parse(url), { size: 1 })
    Plait.map([id], on: @on, timeout: 0.3, retries: 30, on_error: :collect) do
      one.transaction { |tx| add(tx, id) }
    end.first.error
  ensure
    one&.close
  end

  # Whoever rescues the timeout and goes on must not get half of it done.
  def case_a_query_cut_in_a_transaction_ends_it
    in_growing_times(0.1, 1, 10) do |seconds|
      error = assert_raises(Plait::DB::RolledBack) do
        db.transaction do |tx|
          add(tx, 4)
          assert_raises(Plait::TimeoutError) { Plait.timeout(seconds) { tx.query(sleeping(20)) } }
          assert_raises(Plait::DB::RolledBack) { add(tx, 5) }
          assert_raises(Plait::DB::RolledBack) { add(db, 5) }
        end
      end
      assert_match(/was rolled back, since its connection was closed/, error.message)
    end
    assert_undone
  end

  # The row can be written, so nobody holds a lock on it; what was written before is not there.
  def assert_undone
    wait_until(timeout: 60) { add(db, 4) && db.query("DELETE FROM pairs WHERE id = 4").affected == 1 }
    assert_equal(3, count)
  end

  def case_a_stream
    fill_many
    ids = []
    db.stream("SELECT id FROM many ORDER BY id") { |row| ids << row.fetch("id") }
    assert_equal((0...3000).to_a, ids)
    assert_equal([], [].tap { |none| db.stream("SELECT id FROM many WHERE id = #{holder(1)}", -1) { |row| none << row } })
    assert_raises(server_error) { db.stream("SELECT nothing FROM many") { flunk } }
    assert_equal(3, count)
  end

  def case_a_stream_that_is_left
    fill_many
    db.stream("SELECT id FROM many ORDER BY id") { break }
    assert_raises(KeyError) { db.stream("SELECT id FROM many ORDER BY id") { raise KeyError } }
    assert_raises(Plait::TimeoutError) { Plait.timeout(0.2) { db.stream("SELECT id FROM many") { sleep(0.05) } } }
    4.times { assert_equal("two", word(2)) }
    assert_equal([0, 0], db.statistics.values_at(:busy, :waiting))
  end

  def case_queries_inside_of_a_stream
    words = []
    db.stream("SELECT id FROM pairs ORDER BY id") { |row| words << word(row.fetch("id")) }
    assert_equal(%w[one two three], words)
  end

  def case_the_connection_of_the_driver
    db.with { |connection| assert_kind_of(driver, connection) }
    db.with { |connection| insert_openly(connection) }
    assert_equal(3, count)
    assert_raises(KeyError) do
      db.with do |connection|
        insert_openly(connection)
        raise KeyError
      end
    end
    assert_equal(3, count)
  end

  def case_a_block_that_is_left_leaves_no_transaction
    db.with do |connection|
      insert_openly(connection)
      break
    end
    assert_equal(3, count)
    db.with do |connection|
      insert_openly(connection)
      db.with { |same| assert_same(connection, same) }
      connection.query("COMMIT")
    end
    assert_equal(4, count)
  end

  # A transaction that nobody would ever end, and a statement that ends one.
  def case_transactions_are_begun_and_ended_by_their_block_alone
    error = assert_raises(Plait::UsageError) { db.query("BEGIN") }
    assert_match(/use `transaction/, error.message)
    assert_raises(Plait::UsageError) { db.query("/* as well */ BEGIN") } unless blind?
    add(db, 4)
    assert_equal(4, connect { |other| Integer(other.query("SELECT COUNT(*) FROM pairs").value) })
    return if blind?

    ended = assert_raises(Plait::UsageError) { db.transaction { |tx| add(tx, 5) && tx.query("COMMIT") } }
    assert_match(/has ended the transaction/, ended.message)
    assert_equal(5, count)
  end

  # The driver does not tell whether a transaction is open.
  def blind? = false

  def case_a_wrong_value_costs_no_connection
    word(1)
    before = db.statistics[:connected]
    3.times { assert_raises(StandardError) { db.query("SELECT word FROM pairs WHERE id = #{holder(1)}", *wrong_values) } }
    db.transaction do |tx|
      add(tx, 4)
      assert_raises(StandardError) { tx.query("SELECT word FROM pairs WHERE id = #{holder(1)}", *wrong_values) }
    end
    assert_equal(4, count)
    assert_equal(before, db.statistics[:connected])
  end

  def case_what_is_no_statement_and_no_value_is_refused
    word(1)
    before = db.statistics[:connected]
    [nil, :"SELECT 1", 5, []].each { |sql| assert_raises(Plait::UsageError, sql.inspect) { db.query(sql) } }
    assert_raises(Plait::UsageError) { db.query("SELECT word FROM pairs WHERE word = #{holder(1)}", Object.new) }
    assert_equal(before, db.statistics[:connected])
  end

  # What is refused before anything is sent.
  def wrong_values = [Object.new]

  def insert_openly(connection)
    connection.query("BEGIN")
    connection.query("INSERT INTO pairs VALUES (9, 'left')")
    connection.query("SELECT * FROM pairs")
  end

  def case_two_on_one_connection_is_an_error
    errors = db.with do |connection|
      Plait.map(1..4, on: @on, on_error: :collect) { raw(connection, sleeping(0.2)) }.filter_map(&:error)
    rescue StandardError => e
      [e]
    end
    refute_empty(errors)
    errors.each { |error| assert_kind_of(busy_error, error, error.message) }
    assert_equal("two", word(2))
  end

  # Many fibers, some of which are cut at any moment: each gets its own answer or none.
  def case_no_answer_is_anybody_elses
    random = Random.new(8)
    limits = Array.new(150) { random.rand(0.001..0.03) }
    wrong = Queue.new
    Plait.map(limits.each_with_index, on: @on, limit: 12, on_error: :collect) do |limit, n|
      value = Plait.timeout(limit) { db.query("SELECT #{n} AS n, #{sleeping(0.005).delete_prefix("SELECT ")}").to_a.first["n"] }
      wrong << [n, value] if value != n
    end
    assert_empty(Array.new(wrong.size) { wrong.pop })
    wait_until { db.statistics.values_at(:busy, :waiting) == [0, 0] } # a cut statement is cancelled by a thread of its own
    assert_equal("two", word(2))
  end

  def fill_many
    db.query("DROP TABLE IF EXISTS many")
    db.query("CREATE TABLE many (id INTEGER PRIMARY KEY)")
    3.times { |k| db.query("INSERT INTO many VALUES #{Array.new(1000) { |n| "(#{(k * 1000) + n})" }.join(",")}") }
  end
end
