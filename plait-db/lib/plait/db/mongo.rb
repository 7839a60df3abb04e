# frozen_string_literal: true

require_relative "cut"
require_relative "driver"
require_relative "errors"
require "plait/native"
require "plait/values/errors"
require "plait/values/uninterruptible"

Plait::DB::Driver.load("mongo", "~> 2.20") { require "mongo" }

module Plait
  module DB
    # MongoDB by the driver mongo, which has a pool of its own: it is the one that is sized here. It waits in Ruby: nothing
    # blocks the loop, on Ruby 3.1 thanks to Plait's `IO.select`.
    #
    #   db = Plait::DB.connect("mongodb://127.0.0.1/shop", size: 16)
    #   db.query(count: "users")["n"]                                            # a command
    #   db.stream("users", { age: { "$gt" => 30 } }, sort: { name: 1 }) { |user| … }
    #   db.with { |client| client[:users].insert_one(name: "Ada") }
    class Mongo
      # What the pool's options are called there.
      OPTIONS = { size: :max_pool_size, timeout: :wait_queue_timeout, idle_timeout: :max_idle_time }.freeze
      DEFAULTS = { max_pool_size: 16, wait_queue_timeout: 5, server_selection_timeout: 10 }.freeze
      # To the driver an option goes before what the URL says, where these are written otherwise.
      IN_URL = { max_pool_size: :maxpoolsize, wait_queue_timeout: :waitqueuetimeoutms,
                 server_selection_timeout: :serverselectiontimeoutms }.freeze
      BATCH = 100
      # Seconds: to the driver, nil is its own default.
      FOR_EVER = 31_536_000
      ELSEWHERE = %i[max_lifetime check_after name].freeze
      private_constant :OPTIONS, :DEFAULTS, :BATCH, :IN_URL, :FOR_EVER, :ELSEWHERE

      # @return [Mongo]
      def self.open(address, options) = new(address, options)

      # @param address [Address]
      # @param options [Hash] see {DB.connect}
      # @raise [UsageError]
      def initialize(address, options)
        odd = ELSEWHERE & options.keys
        raise UsageError, "#{odd.first}: is unknown to MongoDB's driver, which has a pool of its own" if odd.any?

        @address = address
        @options = defaults.merge(logger: quiet, **options.transform_keys { |name| OPTIONS.fetch(name, name) })
        @options[:wait_queue_timeout] ||= FOR_EVER if @options.key?(:wait_queue_timeout)
        @lock = Mutex.new
      end

      # @param command [Hash] the first key is its name
      # @return [BSON::Document] the answer
      # @raise [Mongo::Error]
      def query(command) = client.database.command(command).documents.first

      # @param collection [String, Symbol]
      # @param filter [Hash]
      # @param options [Hash] of the driver's `find`, such as `sort:` and `batch_size:`. A batch is decoded in one go, in which
      #   no other fiber gets its turn
      # @yieldparam document [BSON::Document]
      # @return [void]
      def stream(collection, filter = {}, **options)
        client[collection].find(filter, { batch_size: BATCH, **options }).each_with_index do |document, index|
          Driver.give_turn if (index % Driver::ROWS).zero?
          yield document
        end
        nil
      end

      # Only replica sets and sharded clusters have transactions. Other than with SQL the driver runs the block again, for up to
      # two minutes, after errors that it calls transient: it must do no harm twice.
      # @yieldparam session [Mongo::Session] to be given to each call that belongs to it
      # @return [Object] what the block returns
      # @raise [CommitUnknown] when the commit was sent, and its answer did not come
      def transaction(&block)
        committing = false
        client.start_session do |session|
          return session.with_transaction do
            committing = false
            block.call(session).tap { committing = true }
          end
        end
      rescue *Commit::CUTS => e
        raise if !committing || refused?(e)

        Commit.tell(CommitUnknown.new, e)
      end

      # @yieldparam client [Mongo::Client] for any number of threads and fibers
      # @return [Object] what the block returns
      def with = yield(client)

      # @return [Hash{Symbol => Numeric}] of now: size, idle, busy
      def statistics
        pools = client.cluster.servers.filter_map(&:pool_internal)
        { size: client.options.fetch(:max_pool_size), idle: pools.sum(&:available_count),
          busy: pools.sum { |pool| pool.size - pool.available_count } }
      end

      # @return [void]
      def close = @lock.synchronize { @client&.close if @generation == Native.fork_generation }

      # @return [String] without the password
      def inspect = "#<#{self.class} #{@address}>"

      private

      # @return [Boolean] whether the server has answered, and not committed
      def refused?(error) = error.is_a?(::Mongo::Error) && !error.label?("UnknownTransactionCommitResult")

      def defaults
        said = @address.options.keys.map(&:downcase)
        DEFAULTS.reject { |name, _| said.include?(IN_URL.fetch(name)) }
      end

      # The threads that watch the servers, and the connections, are the parent's after a fork.
      def client
        return @client if @generation == Native.fork_generation

        @lock.synchronize do
          @client = ::Mongo::Client.new(@address.url, @options) if @generation != Native.fork_generation
          @generation = Native.fork_generation
          @client
        end
      end

      # What goes wrong is raised; the driver would also print it.
      def quiet = ::Logger.new(nil)

      # Closes a connection that was cut in the middle of a call. The driver would use it again, and its next user would get
      # an error instead of an answer: it compares the numbers of requests.
      #
      # An interrupt (a timeout, a kill) leaves the driver's counts wrong, which is put right here: a caller that waits for a
      # place, or has just been given one, would take it along, and in the end no caller would get a connection.
      module Discarding
        # The fiber's variable, and the connection's, that names the call that asks for it or has it.
        KEY = :plait_mongo_claim
        OWNER = :@plait_mongo_claim
        # What a call has of its pool: whether its request is over, and a connection.
        Claim = Struct.new(:served, :connection)
        # Of the driver's versions not each counts there.
        COUNTS = ::Mongo::Server::ConnectionPool.private_method_defined?(:wait_for_connection)
        private_constant :KEY, :OWNER, :Claim, :COUNTS

        # As the driver's own. A thread that is interrupted in the middle of it would take a place of the pool along.
        def check_in(connection)
          Uninterruptible.run do
            super
            connection.instance_variable_get(OWNER)&.connection = nil
          end
        end

        # As the driver's own.
        def with_connection(...)
          before = Thread.current[KEY]
          claim = Thread.current[KEY] = Claim.new(false)
          super do |connection|
            Thread.current[KEY] = nil # what is asked for in the block is its own affair
            Cut.watch(->(_) { connection.disconnect!(reason: :error) }) { yield connection }
          end
        ensure
          Uninterruptible.run do
            Thread.current[KEY] = before
            settle(claim) if claim
          end
        end

        private

        # Counts the calls that ask for a connection, while the pool's lock is held or waited for: the driver's own count.
        def wait_for_connection(...)
          (@asking ||= {}.compare_by_identity)[token = Object.new] = true
          super
        ensure
          @asking&.delete(token)
        end

        def get_connection(...)
          Uninterruptible.run do
            super.tap { |connection| own(connection) if connection }
          end
        end

        def own(connection)
          claim = Thread.current[KEY]
          connection.instance_variable_set(OWNER, claim)
          return unless claim

          claim.served = true
          claim.connection = connection
        end

        # Nothing is left to be done where the driver has not been interrupted.
        def settle(claim)
          count_anew if COUNTS && !claim.served
          connection = claim.connection
          return if connection.nil? || connection.pinned?

          @lock.synchronize { @checked_out_connections.include?(connection) } ? check_in(connection) : drop(connection)
        end

        def count_anew
          @lock.synchronize do
            @connection_requests = @asking&.size || 0
            offer
          end
        end

        # To the waiting calls. The lock is held.
        def offer
          @max_connecting_cv.signal
          @size_cv.signal
        end

        # It was on its way to its first user.
        def drop(connection)
          connection.disconnect!(reason: :error) unless connection.closed?
          @lock.synchronize do
            @pending_connections.delete(connection)
            offer
          end
          @populate_semaphore.signal
        end

        ::Mongo::Server::ConnectionPool.prepend(self)
      end
      private_constant :Discarding
    end
  end
end
