# frozen_string_literal: true

module Plait
  module DB
    # A transaction under way: the calls of {Database}, on its connection. It belongs to the fiber that started it, and ends with
    # its block.
    class Transaction
      # @param session [Session]
      def initialize(session)
        @session = session
        @owner = Fiber.current
      end

      # @return [Result] see {Database#query}
      def query(...) = session.query(...)

      # @return [Result] see {Database#execute}
      def execute(...) = session.execute(...)

      # @return [Statement] see {Database#prepare}
      def prepare(sql) = Statement.new(self, sql)

      # @return [void] see {Database#stream}
      def stream(...) = session.stream(...)

      # A savepoint: an error of the block undoes the block's statements alone.
      # @yieldparam transaction [Transaction]
      # @return [Object] the block's value
      def transaction(&block) = session.transaction(&block)

      # The block has ended.
      # @api private
      def over = @owner = nil

      private

      def session
        return @session if @owner.equal?(Fiber.current)
        raise UsageError, "this transaction is over: it lasts as long as its block" unless @owner

        raise ConnectionInUse, "this transaction belongs to another fiber or thread: begin one in each, or query the " \
                               "database itself"
      end
    end

    # Transactions and savepoints of a {Session}.
    #
    # A transaction is lost when a timeout closes its connection in the middle of a call, or when the server rolls it back (a
    # deadlock). A block that rescues this error gets another one at its next statement, which would run outside of the
    # transaction, and be done for good.
    module Transactions
      # @yieldparam transaction [Transaction]
      # @return [Object] the block's value
      def transaction(&block) = outside? ? outermost(&block) : savepoint(&block)

      # @return [Boolean]
      # @api private
      def outside? = depth.zero?

      private

      def inside? = !outside?

      def depth = @depth ||= 0

      # @param reason [StandardError, Symbol] see {RolledBack.because}
      def lose(reason) = outside? || (@lost ||= reason)

      # MySQL commits at CREATE, ALTER and the like; each database does at a COMMIT.
      # @raise [UsageError]
      def check_still_inside
        return if @lost || @driver.nil? || !idle?(@driver)

        lose(:ended)
        raise UsageError, "this statement has ended the transaction that it was in, as CREATE, ALTER, COMMIT and others do: " \
                          "the statements before it are done for good. Run it outside"
      end

      # @raise [RolledBack]
      def check_transaction = (raise RolledBack.because(@lost) if @lost)

      def outermost(&block)
        call { |driver| control(driver, begin_statement) }
        nested(method(:roll_back)) { within(&block).tap { conclude } }
      ensure
        @lost = nil
      end

      # From COMMIT on an error must not look like a rollback.
      def conclude
        sent = done = nil
        undisturbed do
          call do |driver|
            sent = true
            commit(driver)
            done = true
          end
        end
      rescue *Commit::CUTS => e
        raise unless done || (sent && commit_unknown?)

        Commit.raise_instead(done ? CommittedLate.new : CommitUnknown.new, e)
      end

      # Around COMMIT; a database in this process has a mask here.
      def undisturbed = yield

      # @return [Boolean] whether a failed COMMIT may be done: the connection was lost, so no answer came
      def commit_unknown? = @driver.nil?

      def savepoint(&block)
        name = "plait_#{depth}"
        call { |driver| control(driver, "SAVEPOINT #{name}") }
        undo = -> { call { |driver| control(driver, "ROLLBACK TO SAVEPOINT #{name}") } }
        nested(undo) { within(&block).tap { call { |driver| control(driver, "RELEASE SAVEPOINT #{name}") } } }
      end

      # After a kill or a timeout the caller can't wait for the server, which rolls back at the end of the connection.
      def nested(undo)
        @depth += 1
        value = yield
        whole = true
        value
      rescue StandardError
        raise
      rescue Exception # rubocop:disable Lint/RescueException
        hang_up
        raise
      ensure
        begin
          attempt(undo) unless whole || @lost
        ensure
          @depth -= 1
        end
      end

      # The caller gets the block's error, not one of the undoing.
      def attempt(undo)
        undo.call
      rescue StandardError => e
        hang_up
        raise unless self.class.errors.any? { |kind| e.is_a?(kind) }
      end

      def within
        transaction = Transaction.new(self)
        yield transaction
      ensure
        transaction&.over
      end

      def roll_back = @driver && !tidy?(@driver) && call { |driver| control(driver, "ROLLBACK") }

      def begin_statement = "BEGIN"

      def commit(driver) = control(driver, "COMMIT")
    end
    private_constant :Transactions
  end
end
