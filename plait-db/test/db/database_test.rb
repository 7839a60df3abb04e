# frozen_string_literal: true

require "test_helper"
require "support/interrupts"
require "support/waiting"
require "plait/db"

# What is true of a database whatever its driver.
class DatabaseTest < Minitest::Test
  include Support::Interrupts
  include Support::Waiting

  # A session that gives one row.
  class Session
    class << self
      # @return [Array<Session>]
      attr_accessor :all
      # @return [#call]
      attr_accessor :connecting

      def pool_options(_address) = {}
      def check_pool(...) = nil
      def known_options = nil
      def errors = [IOError]
    end

    attr_reader :closed

    def initialize(*)
      self.class.connecting&.call
      self.class.all << self
    end

    def stream(*) = yield({ "n" => 1 })

    def working? = true

    def fit?(_error) = false

    def abandon = nil

    def close = @closed = true

    def outlasts?(&) = false

    def transaction = yield(self)

    def outside? = true
  end

  def setup
    Session.all = []
    Session.connecting = nil
  end

  def database(**options)
    Plait::DB::Database.new(Session, Plait::DB.const_get(:Address).parse("test://here"), { size: 1, **options })
  end

  [false, true].each do |kept|
    define_method(:"test_an_interrupt_anywhere_in_a_stream_loses_no_connection_#{kept ? "that_is_kept" : "that_is_new"}") do
      each_interrupt do
        Session.all = []
        database = database()
        database.stream("rows") { nil } if kept
        [-> { database.stream("rows") { nil } }, lambda do |place|
          assert_equal([0, 0], database.statistics.values_at(:busy, :waiting), place)
          next if place.match?(/of (?:new|initialize),/) # what a driver's own `new` returns there is collected

          assert_equal(database.statistics[:idle], Session.all.count { |session| !session.closed }, place)
        end]
      end
    end
  end

  # A mask of ours would go before the caller's.
  def test_an_interrupt_that_the_caller_has_masked_does_not_come_while_a_stream_waits_for_a_connection
    database = database()
    held = database.pool.checkout
    rows = Queue.new
    thread = Thread.new { Thread.handle_interrupt(RuntimeError => :never) { database.stream("rows") { |row| rows << row } } }
    thread.report_on_exception = false
    wait_until { database.statistics[:waiting] == 1 }
    thread.raise(RuntimeError, "late")
    database.pool.checkin(held)
    assert_raises(RuntimeError) { thread.join }
    assert_equal({ "n" => 1 }, rows.pop(true))
  end

  # The caller would run it again.
  def test_an_error_after_a_transaction_says_that_it_is_committed
    late = Class.new(StandardError)
    database = database()
    database.pool.define_singleton_method(:with) { |**options, &block| super(**options, &block).tap { raise late } }
    error = assert_raises(Plait::DB::CommittedLate) { database.transaction { 1 } }
    assert_instance_of(late, error.cause)
    refute_predicate(error, :retry_safe?)
    assert_raises(KeyError) { database.transaction { raise KeyError } }
  end

  # Sequel and ActiveRecord make such an object for each pool or connection; a Symbol of each would stay.
  def test_a_transaction_of_a_library_leaves_nothing
    commit = Plait::DB.const_get(:Commit)
    GC.start
    before = Symbol.all_symbols.size
    2000.times { commit.around(Object.new) { nil } }
    GC.start
    assert_operator(Symbol.all_symbols.size - before, :<, 1000)
    assert_empty(Thread.current[:plait_committed])
  end
end
