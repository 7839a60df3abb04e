# frozen_string_literal: true

require_relative "../../harness/meter"
require_relative "bare_drivers"

module Bench
  module Databases
    # Calls with little time, of which some are cut while the server still works for them: their connections can't be used
    # again, and a new one may take longer than a caller can wait.
    class Overload
      # By the scheme of a URL.
      PAUSES = { "postgres" => "SELECT pg_sleep(%s)", "trilogy" => "SELECT SLEEP(%s)", "mysql2" => "SELECT SLEEP(%s)" }.freeze
      ROW = "SELECT name FROM plait_lab_people WHERE id = %d"
      # Seconds that a transaction takes, and the longest time that one is given.
      TRANSACTION = 0.01
      LONGEST = 0.06
      private_constant :ROW, :TRANSACTION, :LONGEST

      # @param trial [Harness::Trial] with the sizes `queries`, `crowd`, `connections`, and `limit` in seconds
      # @param driver [String] the scheme of a URL
      # @param kind [Symbol] :threads or :fibers
      def initialize(trial, driver, kind)
        require "plait/db"
        @trial = trial
        @driver = driver
        @kind = kind
        @url = BareDrivers.url(driver)
      end

      # Plait's pool and timeouts.
      def plait = database { |db| queries { |sql| Plait.timeout(@trial[:limit]) { db.query(sql).value } } }

      # The gem, Ruby's Timeout, and the bare driver.
      def connection_pool
        require "connection_pool"
        require "timeout"
        pool = ConnectionPool.new(size: @trial[:connections], timeout: @trial[:limit]) { BareDrivers.connect(@driver) }
        queries { |sql| Timeout.timeout(@trial[:limit]) { pool.with { |connection| ask(pool, connection, sql) } } }
      end

      # Transactions on PostgreSQL with any time between none and {LONGEST}: what is possible is known from one alone.
      def transactions
        database do |db|
          least = Array.new(9) { seconds { transaction(db) } }.sort[4]
          times = Random.new(1).then { |random| Array.new(@trial[:queries]) { random.rand(LONGEST) } }
          measure(times, possible: times.count { |time| time > least }) { |time| Plait.timeout(time) { transaction(db) } }
        end
      end

      private

      def database(&block) = Plait::DB.connect(@url, size: @trial[:connections], &block)

      def transaction(db) = db.transaction { |tx| tx.query(format(PAUSES.fetch(@driver), TRANSACTION)) }

      # A connection that is cut in the middle can't be used again.
      def ask(pool, connection, sql)
        whole = false
        BareDrivers.values(@driver, connection, sql).first.tap { whole = true }
      ensure
        pool.discard_current_connection(&:close) unless whole
      end

      def queries
        slow, healthy = Array.new(@trial[:queries]) { |n| n }.partition { |n| (n % 10).zero? && n.positive? }
        all = slow.to_h { |n| [n, format(PAUSES.fetch(@driver), 1)] }.merge(healthy.to_h { |n| [n, format(ROW, n + 1)] })
        measure(all.sort.map(&:last), possible: healthy.size) { |sql| yield(sql).to_s.start_with?("name") }
      end

      # @param possible [Integer] items of which a result can be expected
      def measure(items, possible:, &body)
        cpu = Harness::Meter.cpu
        done = 0
        wall = seconds do
          done = Plait.map(items, on: @kind, limit: @trial[:crowd], on_error: :collect) { |item| body.call(item) }
                      .count { |outcome| outcome.ok? && outcome.value }
        end
        @trial.report(operations: items.size, cpu: Harness::Meter.cpu - cpu, wall: wall, result: items.size,
                      figures: { "healthy" => done, "done_of_possible" => done.fdiv(possible),
                                 "lost_per_1000" => (possible - done) * 1_000.0 / possible })
      end

      def seconds
        start = Harness::Meter.wall
        yield
        Harness::Meter.wall - start
      end
    end
  end
end
