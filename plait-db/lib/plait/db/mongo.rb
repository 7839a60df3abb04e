# frozen_string_literal: true

require_relative "cut"

Plait::DB::Driver.load("mongo", "~> 2.20") { require "mongo" }

module Plait
  module DB
    # MongoDB by the driver mongo, whose own pool gets the size. It waits in Ruby: it never blocks the loop, on Ruby 3.1 thanks to
    # Plait's `IO.select`.
    #
    #   db = Plait::DB.connect("mongodb://127.0.0.1/shop", size: 16)
    #   db.query(count: "users")["n"]                                            # a command
    #   db.stream("users", { age: { "$gt" => 30 } }, sort: { name: 1 }) { |user| … }
    #   db.with { |client| client[:users].insert_one(name: "Ada") }
    class Mongo
      # The driver's names of the pool's options.
      OPTIONS = { size: :max_pool_size, timeout: :wait_queue_timeout, idle_timeout: :max_idle_time }.freeze
      DEFAULTS = { max_pool_size: 16, wait_queue_timeout: 5, server_selection_timeout: 10 }.freeze
      # Their names in a URL. The driver would prefer a default given here to the URL's option.
      IN_URL = { max_pool_size: :maxpoolsize, wait_queue_timeout: :waitqueuetimeoutms,
                 server_selection_timeout: :serverselectiontimeoutms }.freeze
      BATCH = 100
      # Seconds instead of no limit: nil is the driver's own default.
      YEAR = 31_536_000
      ELSEWHERE = %i[max_lifetime check_after name].freeze

      # @return [Mongo]
      def self.open(address, options) = new(address.check, options)

      # @param address [Address]
      # @param options [Hash] see {DB.connect}
      # @raise [UsageError]
      def initialize(address, options)
        odd = ELSEWHERE & options.keys
        raise UsageError, "#{odd.first}: is unknown to MongoDB's driver, which has a pool of its own" if odd.any?

        @address = address
        @options = defaults.merge(logger: quiet, **options.transform_keys { |name| OPTIONS.fetch(name, name) })
        @options[:wait_queue_timeout] ||= YEAR if @options.key?(:wait_queue_timeout)
        @lock = Mutex.new
      end

      # @param command [Hash] the first key is its name
      # @return [BSON::Document] the answer
      # @raise [Mongo::Error]
      def query(command) = client.database.command(command).documents.first

      # @param collection [String, Symbol]
      # @param filter [Hash]
      # @param options [Hash] of the driver's `find`, such as `sort:` and `batch_size:`. No other fiber runs while a batch is
      #   decoded
      # @yieldparam document [BSON::Document]
      # @return [void]
      def stream(collection, filter = {}, **options, &block)
        Driver.each_in_turns(client[collection].find(filter, { batch_size: BATCH, **options }), &block)
        nil
      end

      # Only replica sets and sharded clusters have transactions. After transient errors the driver runs the block again, for up
      # to two minutes: the block must be repeatable.
      # @yieldparam session [Mongo::Session] an option of each call in the transaction
      # @return [Object] the block's value
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

        Commit.raise_instead(CommitUnknown.new, e)
      end

      # @yieldparam client [Mongo::Client] for any number of threads and fibers
      # @return [Object] the block's value
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

      # After a fork the driver's threads and connections are the parent's.
      def client
        return @client if @generation == Native.fork_generation

        @lock.synchronize do
          @client = ::Mongo::Client.new(@address.url, @options) if @generation != Native.fork_generation
          @generation = Native.fork_generation
          @client
        end
      rescue ::Mongo::Error::InvalidURI => e
        raise UsageError, Secrets.hide(e.message), cause: nil # the driver shows the password
      end

      # Errors are raised; the driver would also print them.
      def quiet = ::Logger.new(nil)

      # Closes a connection that was cut in the middle of a call. The driver would use it again, and its next user would get an
      # error: the driver compares the numbers of requests.
      #
      # It also corrects the driver's counts after an interrupt (a timeout, a kill) of a caller that waits for a place, or has
      # just got one. Each such place would be lost, and in the end no caller would get a connection.
      # @api private
      module Discarding
        # The variables of the fiber and of the connection that refer to the checkout.
        KEY = :plait_mongo_checkout
        OWNER = :@plait_mongo_checkout
        # The checkout of a call: whether its request is over, and its connection.
        Checkout = Struct.new(:served, :connection)
        # Some versions of the driver count requests.
        COUNTS = ::Mongo::Server::ConnectionPool.private_method_defined?(:wait_for_connection)
        private_constant :KEY, :OWNER, :Checkout, :COUNTS

        # An interrupt in the middle of the driver's method would lose a place of the pool. Behind it the connection may have
        # another owner.
        def check_in(connection)
          owner = connection.instance_variable_get(OWNER)
          Uninterruptible.run do
            super
            owner&.connection = nil
          end
        end

        def with_connection(...)
          before = Thread.current[KEY]
          checkout = Thread.current[KEY] = Checkout.new(false)
          super do |connection|
            Thread.current[KEY] = nil # a call in the block has a checkout of its own
            Cut.watch(->(_) { connection.disconnect!(reason: :error) }) { yield connection }
          end
        ensure
          Uninterruptible.run do
            Thread.current[KEY] = before
            settle(checkout) if checkout
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
          Uninterruptible.run { super.tap { |connection| own(connection) if connection } }
        end

        def own(connection)
          checkout = Thread.current[KEY]
          connection.instance_variable_set(OWNER, checkout)
          return unless checkout

          checkout.served = true
          checkout.connection = connection
        end

        # Does nothing where the driver was not interrupted.
        def settle(checkout)
          correct_count if COUNTS && !checkout.served
          connection = checkout.connection
          return if connection.nil? || connection.pinned?

          @lock.synchronize { @checked_out_connections.include?(connection) } ? check_in(connection) : drop(connection)
        end

        def correct_count
          @lock.synchronize do
            @connection_requests = @asking&.size || 0
            offer
          end
        end

        # Wakes waiting calls. The lock is held.
        def offer
          @max_connecting_cv.signal
          @size_cv.signal
        end

        # Closes a connection that was on its way to its first user.
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
      private_constant :OPTIONS, :DEFAULTS, :BATCH, :IN_URL, :YEAR, :ELSEWHERE, :Discarding
    end
  end
end
