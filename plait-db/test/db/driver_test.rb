# frozen_string_literal: true

require "test_helper"
require "plait/db"

# A driver is added in two places: its bridge's file (fake_driver.rb) and a line that registers it.
class DBDriverTest < Minitest::Test
  Plait::DB.register(:Fake, "fake", file: File.expand_path("fake_driver", __dir__))

  def setup
    @db = Plait::DB.connect("fake://here/x", size: 1)
    @db.query("INSERT", 1, 2)
  end

  def teardown = @db.close

  def rows = @db.query("SELECT").rows

  def test_queries
    assert_equal([{ "a" => 1, "b" => 2 }], @db.query("SELECT").to_a)
    assert_equal([[1, 2]], @db.prepare("SELECT").call.rows)
    streamed = []
    @db.stream("SELECT") { |row| streamed << row["b"] }
    assert_equal([2], streamed)
  end

  def test_transactions
    @db.transaction { |tx| tx.query("INSERT", 3, 4) }
    assert_raises(RuntimeError) do
      @db.transaction do |tx|
        tx.query("INSERT", 5, 6)
        raise "no"
      end
    end
    assert_equal([[1, 2], [3, 4]], rows)
  end

  def test_a_refused_statement_keeps_the_connection
    assert_raises(IOError) { @db.query("FAIL") }
    assert_equal([[1, 2]], rows)
    assert_raises(Plait::UsageError) { @db.query("BEGIN") }
  end

  def test_a_call_that_is_cut_ends_its_connection
    assert_raises(Plait::TimeoutError) { @db.with { Plait.timeout(0.01) { sleep } } }
    assert_empty(rows)
  end
end
