# frozen_string_literal: true

require_relative "database"
require_relative "detached_call"
require_relative "pool"
require_relative "result"
require_relative "transaction"
require "plait/values/errors"

module Plait
  module DB
    # A connection in the pool: the calls of {Database} on one connection of a driver. A bridge says how they are done.
    class Session
      include Transactions

      # Prepared statements that a connection keeps.
      STATEMENTS = 256

      # @return [Database]
      def self.open(address, options) = Database.new(self, address, options)

      # @return [Hash{Symbol => Object}] the pool's options for such a database, where the caller gives none
      def self.pool_options(_address) = {}

      # @raise [UsageError] when a pool like that is none for such a database
      def self.check_pool(_address, _options) = nil

      # @return [Array<Module>] what the driver raises. Other errors in the middle of its calls come from a time limit of the
      #   caller, as `Timeout.timeout(1, Late)` raises them, and go on to it
      def self.errors = [Error, SystemCallError, IOError, SocketError]

      # @return [Array<Symbol>, nil] the options that the driver knows, where it says nothing about others
      def self.known_options = nil

      # It connects at its first call: an interrupted one is the pool's, which closes it.
      # @param address [Address]
      # @param options [Hash{Symbol => Object}] of the driver
      def initialize(address, options)
        @address = address
        @options = options
        @statements = {}
        Pool.watch_forks(self)
      end

      # @return [Result]
      def query(sql, *values) = statement(sql) { |driver| ask(driver, sql, values) }

      # @return [Result]
      def execute(sql, *values) = statement(sql) { |driver| ask_prepared(driver, sql, values) }

      # @yieldparam row [Hash{String => Object}]
      def stream(sql, *values, &block)
        statement(sql) { |driver| each_row(driver, sql, values, &block) }
        nil
      end

      # @yieldparam driver [Object]
      # @return [Object] what the block returns
      def lend(&block)
        @lent ? yield(connection) : lend_and_tidy(&block) # an outer block goes on with what an inner one leaves open
      end

      # @return [Boolean] whether the server still answers
      def working? = Plait.timeout(PATIENCE) { call { |driver| ping(driver) } }

      # @return [Boolean] whether it is as good as new although a block was left by this error
      def fit?(_error) = !@driver.nil? && outside? && idle?(@driver)

      # After a fork it is the parent's. Its statements and itself are kept: many a driver talks to the server when they are
      # collected. A block that was under way goes on with a new connection, but not with its transaction.
      def abandon
        @parting = nil # its thread is the parent's
        return unless @driver

        @inherited = [@driver, @statements]
        forget(@driver)
        @driver = nil
        @statements = {}
        lose(:forked)
      end

      # @return [void]
      def close
        driver, @driver = @driver, nil
        forget_statements
        leave(driver) if driver
      end

      # @yield when a connection that was cut is closed, and its server is told
      # @return [Boolean] whether that is still under way; else the block is never called
      def parting?(&parted) = !@parting.nil? && @parting.on_end(&parted)

      private

      # Seconds for a server to answer the question whether it is there.
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
      # and overrides of these what its driver needs:

      # Runs a statement without values or rows.
      def control(driver, sql) = ask(driver, sql, [])

      # @return [Boolean] whether an error says that the connection has ended: no server is there to be told
      def ended?(_error) = false

      # @return [Boolean] whether a statement, as it is written, changes the connection for its next caller
      def lasting?(_sql) = false

      # @return [Boolean] the same, after a block that had it for itself
      def tidy?(driver) = idle?(driver)

      # @return [Boolean] whether an error says that the server has rolled back the whole transaction
      def rolled_back?(_error) = false

      # @return [Object, nil] what {break_off} needs to know of a connection
      def identify(_driver) = nil

      # Tells the server that its answer is no longer needed. The connection is closed after that. On a thread of its own: the
      # caller's time is over.
      # @param identity [Object, nil] see {identify}
      def break_off(_driver, _identity) = nil

      # Gives up a connection without a word to the server.
      def forget(_driver) = nil

      # And what they share:

      # Nothing reaches a driver that connects in C, and an interrupt that comes as it ends would lose the connection.
      def begin_anew
        @parting&.wait # else the server has two of them
        @parting = nil
        connecting = DetachedCall.new(discard: ->((driver, _)) { leave(driver) }) { connect_and_identify }
        connecting.value(take: ->(made) { @driver, @identity = made })
      end

      def connect_and_identify
        driver = connect
        made = [driver, identify(driver)]
      ensure
        leave(driver) if driver && !made
      end

      # A statement of its own, or one of a transaction: neither may begin or end one.
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
        UsageError.new("#{sql.to_s[0, 40].inspect} would leave a transaction or a state of its own on a connection that " \
                       "others get next: use `transaction { … }`, or `with { |connection| … }`")
      end

      # Whatever ends a call in its middle ends its connection.
      def call
        value = yield connection
        whole = true
        value
      rescue StandardError => e
        whole = answer?(e) || e.is_a?(UsageError) # what is refused was never sent
        lose(e) if rolled_back?(e)
        raise
      ensure
        hang_up(cut: e.nil? || !ended?(e)) unless whole
      end

      # @return [Object] the driver's; a new one when the last was hung up
      # @raise [RolledBack]
      def connection
        check_transaction
        begin_anew unless @driver
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

      # What a block has left open is undone.
      def tidy = tidy?(@driver) || call { |driver| control(driver, "ROLLBACK") }

      # @param cut [Boolean] whether the server may be at something still
      def hang_up(cut: false)
        driver, @driver = @driver, nil
        forget_statements
        lose(:closed)
        return unless driver

        cut ? part(driver, @identity) : leave(driver)
      end

      def part(driver, identity)
        @parting = DetachedCall.new(refused: -> { leave(driver) }) do
          break_off(driver, identity)
        rescue *self.class.errors
          nil
        ensure
          leave(driver)
        end
        @parting.start
      end

      # Errors of a connection's end are of no interest.
      def leave(driver)
        driver.close
      rescue *self.class.errors
        nil
      end

      # @return [Object] what the block returns, or has returned for this statement before; the oldest goes when there are many
      def prepared(sql)
        @statements.fetch(sql) do
          discard(@statements.delete(@statements.first.first)) if @statements.size >= STATEMENTS
          @statements[sql] = yield
        end
      end

      # The statements of a connection that ends. Most end with it.
      def forget_statements = @statements = {}

      # Gives up a prepared statement.
      def discard(_statement) = nil
    end
    private_constant :Session
  end
end
