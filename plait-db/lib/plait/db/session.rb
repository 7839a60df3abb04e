# frozen_string_literal: true

require_relative "database"
require_relative "detached_call"
require_relative "pool"
require_relative "transaction"

module Plait
  module DB
    # A connection in the pool: the calls of {Database} on one connection of a driver. A bridge is a subclass.
    class Session
      include Transactions

      # Prepared statements that a connection keeps.
      STATEMENTS = 256

      def self.open(address, options) = Database.new(self, address.check, options)

      # @return [Hash{Symbol => Object}] the pool's options for such a database, where the caller has none
      def self.pool_options(_address) = {}

      # @raise [UsageError] such a database can't have this pool
      def self.check_pool(_address, _options) = nil

      # @return [Array<Module>] errors of the driver. Other errors in the middle of its calls come from a time limit of the
      #   caller, such as `Timeout.timeout(1, Late)`, and reach it
      def self.errors = [Error, SystemCallError, IOError, SocketError]

      # @return [Array<Symbol>, nil] the options of a driver that ignores unknown ones
      def self.known_options = nil

      # It connects at its first call: if that is interrupted, the pool already has the session, and it goes on connecting.
      # @param options [Hash{Symbol => Object}] of the driver
      def initialize(address, options)
        @address = address
        @options = options
        @statements = {}
        Pool.watch_forks(self)
      end

      def query(sql, *values) = statement(sql) { |driver| ask(driver, sql, values) }

      def execute(sql, *values) = statement(sql) { |driver| ask_prepared(driver, sql, values) }

      def stream(sql, *values, &block)
        statement(sql) { |driver| each_row(driver, sql, values, &block) }
        nil
      end

      # @return [Object] the block's value
      def lend(&block)
        @lent ? yield(connection) : lend_and_tidy(&block) # the outer block may use a transaction that an inner one leaves open
      end

      # @return [Boolean] whether the server still answers
      def working? = Plait.timeout(PATIENCE) { call { |driver| ping(driver) } }

      # @return [Boolean] whether it is as good as new after this error of a block
      def fit?(_error) = !@driver.nil? && outside? && idle?(@driver)

      # After a fork the connection is the parent's. It and its statements stay referenced: many drivers talk to the server in a
      # finalizer. A block under way goes on with a new connection, but not with its transaction.
      def abandon
        driver = @driver || @underway
        @underway = @parting = @connecting = nil # its thread is the parent's
        return unless driver

        @inherited = [driver, @statements]
        forget(driver)
        @driver = nil
        @statements = {}
        lose(:forked)
      end

      def close
        pending&.leave
        driver, @driver = @driver, nil
        forget_statements
        leave(driver) if driver
      end

      # @yieldparam usable [Boolean] when what its last caller did not wait for is over: to connect, or to break off a statement
      # @return [Boolean] whether there is such a thing; else the block is never called
      def outlasts?(&over)
        call = pending or return false
        ended = -> { over.call(!call.untaken.nil?) }
        call.on_end(&ended) || ended.call
        true
      end

      private

      # Seconds for a server's answer to `ping`.
      PATIENCE = 5
      private_constant :PATIENCE

      # A bridge defines, as private methods:
      #
      # - connect => a connection of the driver
      # - ask(driver, sql, values) and ask_prepared(driver, sql, values) => Result
      # - each_row(driver, sql, values) { |row| … }
      # - ping(driver) => Boolean
      # - answer?(error) => whether an error is the server's answer, after which the next one can be asked
      # - idle?(driver) => whether nothing is under way: no answer, no transaction
      #
      # and overrides some of these:

      # Runs a statement without values or rows.
      def control(driver, sql) = ask(driver, sql, [])

      # @return [Boolean] whether an error means the end of the connection: no server is left to break off a statement
      def ended?(_error) = false

      # @return [Boolean] whether the text of a statement shows that it changes the connection for its next caller
      def lasting?(_sql) = false

      # @return [Boolean] whether a block of {lend} has left the connection as it was
      def tidy?(driver) = idle?(driver)

      # @return [Boolean] whether an error says that the server has rolled back the whole transaction
      def rolled_back?(_error) = false

      # @return [Object, nil] an identity of the connection for {break_off}
      def identify(_driver) = nil

      # Makes the server break off its statement. It runs on a thread of its own, since the caller's time is over.
      # @param identity [Object, nil] see {identify}
      # @return [Boolean] whether the connection is as good as new; else it is closed
      def break_off(_driver, _identity) = false

      # Gives up a connection without sending a byte to the server.
      def forget(_driver) = nil

      # Shared by all bridges:

      # A driver that connects in C can't be interrupted, and an interrupt just at its end would lose the connection.
      def connect_again
        @parting&.wait # else the server has two connections
        Uninterruptible.run { pick_up }
        @connecting&.take do |made|
          @driver, @identity = made
          @connecting = @underway = nil
        end
      end

      # What an earlier caller has started is for this one.
      def pick_up
        @driver, @identity = @parting&.untaken
        @parting = nil
        @connecting = @underway = nil if @connecting.nil? || @connecting.failed?
        @connecting ||= DetachedCall.new(discard: ->((made, _)) { leave(made) }) { connect_and_identify }.start unless @driver
      end

      # @return [DetachedCall, nil] that a caller did not wait for, or does now
      def pending = @parting || @connecting

      def connect_and_identify
        @underway = connect
        made = [@underway, Plait.timeout(PATIENCE) { identify(@underway) }]
      ensure
        leave(@underway) if @underway && !made
      end

      # Runs one statement, which must neither begin nor end a transaction.
      def statement(sql, &block)
        raise UsageError, "a statement is a String, not #{sql.inspect}" unless sql.is_a?(String)
        return call(&block) if @lent
        return call(&block).tap { check_still_inside } if inside?
        raise lasting(sql) if lasting?(sql)

        value = call(&block)
        idle?(@driver) ? value : undo_what_lasts(sql)
      end

      def undo_what_lasts(sql)
        call { |driver| control(driver, "ROLLBACK") }
        raise lasting(sql)
      end

      def lasting(sql)
        UsageError.new("#{sql.to_s[0, 40].inspect} would leave a transaction or a setting on a connection that other " \
                       "callers get next: use `transaction { … }`, or `with { |connection| … }`")
      end

      # An exit in the middle of a call ends its connection.
      def call
        value = yield connection
        whole = true
        value
      rescue StandardError => e
        whole = answer?(e) || e.is_a?(UsageError) # such a call was never sent
        lose(e) if rolled_back?(e)
        raise
      ensure
        hang_up(cut: e.nil? || !ended?(e)) unless whole
      end

      # @return [Object] the driver's; a new one after {hang_up}
      # @raise [RolledBack]
      def connection
        check_transaction
        connect_again unless @driver
        @driver
      end

      # Also after `break`, `return` and `throw`.
      def lend_and_tidy
        @lent = true
        yield connection
      rescue Exception => e # rubocop:disable Lint/RescueException
        hang_up if e.is_a?(StandardError) && outside? && @driver && !tidy?(@driver)
        raise
      ensure
        @lent = false
        tidy if e.nil? && outside? && @driver
      end

      # Undoes a transaction that a block has left open.
      def tidy = tidy?(@driver) || call { |driver| control(driver, "ROLLBACK") }

      # @param cut [Boolean] whether the server may still run a statement
      def hang_up(cut: false)
        driver, @driver = @driver, nil
        forget_statements
        lose(:closed)
        return unless driver

        cut ? part(driver, @identity) : leave(driver)
      end

      # A block of {lend} may have changed its connection.
      def part(driver, identity)
        lent = @lent
        @underway = driver # a fork gives it up, too
        @parting = DetachedCall.new(discard: ->((kept, *)) { leave(kept) }, refused: -> { leave(driver) }) do
          kept = break_off(driver, identity) && !lent
          [driver, identity] if kept
        rescue *self.class.errors
          nil
        ensure
          leave(driver) unless kept
        end
        @parting.start
      end

      # Ignores the driver's errors at the end of a connection.
      def leave(driver)
        driver.close
      rescue *self.class.errors
        nil
      end

      # @return [Object] the block's value, or its former value for this statement; the oldest one goes when there are many
      def prepared(sql)
        @statements.fetch(sql) do
          discard(@statements.delete(@statements.first.first)) if @statements.size >= STATEMENTS
          @statements[sql] = yield
        end
      end

      # Drops the statements of a connection that ends. With most drivers they end with it.
      def forget_statements = @statements = {}

      # Gives up a prepared statement.
      def discard(_statement) = nil
    end
    private_constant :Session
  end
end
