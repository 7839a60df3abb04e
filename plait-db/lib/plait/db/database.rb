# frozen_string_literal: true

module Plait
  module DB
    # A database with its pool of connections, for any number of threads and fibers. Each call takes a connection for as long
    # as it lasts; inside of {transaction} and {with} all calls of a fiber go to the same one.
    #
    # Errors of the server and of the connection are the driver's. A call that a timeout or a cancellation cuts closes its
    # connection, which rolls its transaction back.
    class Database
      # Options of the pool; all others are the driver's.
      OF_THE_POOL = %i[size timeout max_lifetime idle_timeout check_after name].freeze
      private_constant :OF_THE_POOL

      # @return [Pool<Session>]
      # @api private
      attr_reader :pool

      # @api private
      # @param session [Class<Session>] of the bridge
      # @param address [Address]
      # @param options [Hash] see {DB.connect}
      def initialize(session, address, options)
        refuse_in_url(address)
        about = session.pool_options(address).merge(options.slice(*OF_THE_POOL))
        session.check_pool(address, about)
        driver = address.options.merge(options.except(*OF_THE_POOL))
        session.known_options&.then { |known| refuse_unknown(known, driver.keys) }
        @name = about.fetch(:name, address.to_s)
        @pool = Pool.new(check: :working?.to_proc, errors: session.errors, fit: ->(connection, error) { connection.fit?(error) },
                         abandon: :abandon.to_proc, linger: ->(connection, over) { connection.outlasts?(&over) },
                         name: @name, **about) { session.new(address, driver) }
      end

      # Runs a statement.
      # @param sql [String] with the placeholders of the server: `?` (MySQL, SQLite) or `$1` (PostgreSQL). With Redis: the
      #   name of a command
      # @param values [Array] for the placeholders. With Redis: the arguments of the command
      # @return [Result] with Redis: the answer
      # @raise [StandardError] the driver's errors
      # @raise [PoolTimeout] when no connection came free in time
      def query(sql, *values) = @pool.with { |session| session.query(sql, *values) }

      # As {query}, with a statement that the connection prepares once, and keeps.
      # @return [Result]
      # @raise (see #query)
      def execute(sql, *values) = @pool.with { |session| session.execute(sql, *values) }

      # @param sql [String]
      # @return [Statement] whose `call` is {execute}
      def prepare(sql) = Statement.new(self, sql)

      # Gives the rows of a large result to the block as they arrive. It never holds many rows, except with trilogy, which always
      # reads a whole result. Leaving the block early ends the statement.
      # @param values [Array]
      # @yieldparam row [Hash{String => Object}] with Redis: a key of SCAN
      # @return [void]
      # @raise (see #query)
      def stream(sql, *values, &block)
        raise UsageError, "stream needs a block, which is given each row" unless block

        lend_for_long { |session| session.stream(sql, *values, &block) }
      end

      # Runs the block in a transaction. The end of the block commits it; any other exit (an exception, `break`, `return`,
      # `throw`, a timeout, a kill) rolls it back. Inside another transaction it is a savepoint.
      # @yieldparam transaction [Transaction]
      # @return [Object] the block's value
      # @raise [RolledBack] the server has rolled it back, and the block rescued that error
      # @raise [CommitUnknown] COMMIT was sent, and its answer did not come
      # @raise [CommittedLate] it is committed, and the caller's time was over just then
      # @raise (see #query)
      def transaction(&block)
        raise UsageError, "transaction needs a block, which is the transaction" unless block

        done = false
        @pool.with { |session| session.transaction(&block).tap { done = session.outside? } }
      rescue *Commit::CUTS => e # while the connection was given back
        done ? Commit.raise_instead(CommittedLate.new, e) : raise
      end

      # Lends the block a connection of the driver, with its whole API.
      # @yieldparam connection [Object] a Trilogy, Mysql2::Client, PG::Connection, SQLite3::Database or RedisClient. A
      #   transaction that the block leaves open is rolled back
      # @return [Object] the block's value
      def with(&block)
        raise UsageError, "with needs a block, which is given the connection" unless block

        @pool.with { |session| session.lend(&block) }
      end

      # @return [Hash{Symbol => Numeric}] see {Pool#statistics}
      def statistics = @pool.statistics

      # Closes all connections; a busy one when it comes back.
      # @return [void]
      def close = @pool.close

      # @return [String] without the password
      def inspect = "#<#{self.class} #{@name}>"

      private

      # A driver would ignore them. (Some drivers have a `timeout`, too.)
      def refuse_in_url(address)
        odd = address.options.keys & (OF_THE_POOL - %i[timeout name])
        raise UsageError, "#{odd.first} is the pool's: give it to DB.connect, not in the URL" if odd.any?
      end

      # Some drivers ignore unknown options: a wrong letter would leave a program without its timeout, or without TLS.
      def refuse_unknown(known, given)
        odd = given.find { |name| !known.include?(name) } or return
        near = Suggestion.nearest(odd.to_s, (known + OF_THE_POOL).map(&:to_s))
        raise UsageError, "#{odd}: is an option neither of the pool nor of the driver#{near && "; did you mean #{near}:?"}"
      end

      # A block that gets rows may send queries: on another connection, or, in a transaction, with an error.
      def lend_for_long(&block)
        return @pool.with(&block) if @pool.lent?

        session = nil
        begin
          @pool.checkout(take: ->(taken) { session = taken })
          value = yield session
          whole = true
          value
        ensure
          (whole ? @pool.checkin(session) : @pool.discard(session)) if session
        end
      end
    end
  end
end
