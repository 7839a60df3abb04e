# frozen_string_literal: true

require "socket"
require_relative "mysql"

Plait::DB::Driver.load("mysql2", "~> 0.5") { require "mysql2" }

module Plait
  module DB
    # MySQL and MariaDB by mysql2. Ruby waits for the answer of a plain query, whose values are part of its text. Calls that wait
    # in C run on another thread, see {Driver}.
    class Mysql2 < Session
      include Mysql

      ROWS = { as: :array }.freeze
      PREPARED = { as: :array, cache_rows: true }.freeze
      STREAM = { as: :array, stream: true, cache_rows: false }.freeze
      # CR_NEW_STMT_METADATA: ALTER TABLE has changed the columns of a prepared statement, which has to be prepared again.
      CHANGED = 2057
      READING = /\A\s*(?:SELECT|SHOW)\b/i
      ENDS = %w[COMMIT ROLLBACK].freeze

      # Options of a connection; the others are options of queries.
      OPTIONS = %i[automatic_close connect_attrs connect_timeout database db dbname default_auth default_file default_group
                   enable_cleartext_plugin encoding flags get_server_public_key host hostname init_command local_infile pass
                   password port read_timeout reconnect secure_auth sock socket ssl ssl_mode sslca sslcapath sslcert sslcipher
                   sslkey sslverify user username write_timeout].freeze

      # A Mysql2::Client that one fiber or thread at a time may call. The driver checks queries only; two threads in one prepared
      # statement would corrupt its memory.
      class Client < ::Mysql2::Client
        GUARDED = %i[query prepare ping select_db next_result store_result abandon_results! change_user close].freeze

        # Running a prepared statement is a call of its connection.
        module Statement
          attr_accessor :plait_guard

          def execute(...) = plait_guard.hold { super }
        end

        prepend Guard.around(GUARDED & ::Mysql2::Client.public_instance_methods)

        def plait_guard = @plait_guard ||= Guard.new

        def prepare(sql)
          super.tap do |statement|
            statement.extend(Statement)
            statement.plait_guard = plait_guard
          end
        end

        # Duplicates the descriptor: the number of the driver's may be another socket's by the time of its use.
        def initialize(...)
          super
          @wire = BasicSocket.for_fd(socket).tap { |io| io.autoclose = false }.dup # no interrupt comes here: see {DetachedCall}
        end

        # Ends a wait of another thread for the server.
        def cut
          @wire.shutdown
        rescue SystemCallError, IOError
          nil
        end

        def close
          super
        ensure
          @wire&.close
        end
      end

      # Fetches rows, which a call in C yields one by one, on a thread ahead of the fiber that uses them.
      class Batches
        # Unused batches at most; raising it fetches further ahead.
        AHEAD = 2

        # @param size [Integer] rows in a batch
        # @param stop [#call] ends the source soon: the rest of its rows is not needed
        # @param source [#call] (&block) => gives each row to the block
        def initialize(size:, stop:, &source)
          @size = size
          @stop = stop
          @source = source
          @queue = SizedQueue.new(AHEAD)
        end

        # @raise [StandardError] of the source
        def each(&block)
          thread = start
          while (batch = @queue.pop)
            batch.each(&block)
          end
          raise @error if @error
          raise WorkerDied, "the thread that read the rows was killed: some are missing" unless @complete
        ensure
          finish(thread)
        end

        private

        def start = Thread.new { fetch }.tap { |thread| thread.report_on_exception = false }

        def fetch
          batch = []
          @source.call do |row|
            batch << row
            if batch.size == @size
              @queue << batch
              batch = []
            end
          end
          @queue << batch
          @complete = true
        rescue StandardError => e
          @error = e
        ensure
          @queue.close
        end

        # When it returns the source does not touch its connection any more.
        def finish(thread)
          return unless thread

          @queue.close
          @stop.call unless @complete
          thread.join
        end
      end
      private_constant :ROWS, :PREPARED, :STREAM, :CHANGED, :READING, :ENDS, :OPTIONS, :Client, :Batches

      def self.errors = super + [::Mysql2::Error]

      def self.known_options = OPTIONS + ::Mysql2::Client.default_query_options.keys

      # An interrupt between the answer to BEGIN and the block leaves a transaction open, of which the driver does not know.
      def fit?(_error) = super && !@open

      private

      def control(driver, sql)
        @open = true if sql == begin_statement
        super.tap { @open = false if ENDS.include?(sql) }
      end

      def lose(_reason) = super.tap { @open = false }

      def connect(**haste)
        refuse(:reconnect, "the driver would go on in the middle of a transaction without its first half")
        given = about(**haste)
        given[:host] = "127.0.0.1" if given[:host] == "localhost" && @address.port # to the driver it means a socket file
        Client.new(given)
      end

      # The driver would ignore `ssl: true`, and connect without TLS.
      def tls = @options[:ssl] == true ? { ssl_mode: :required, **@options.except(:ssl) } : @options.except(:ssl)

      def ask(driver, sql, values)
        found = driver.query(fill(driver, sql, values), ROWS)
        result(driver, found).tap { driver.abandon_results! } # a procedure answers with several results
      end

      def ask_prepared(driver, sql, values)
        Plait.offload(stop: -> { driver.cut }) do
          run_prepared(driver, sql, values)
        rescue ::Mysql2::Error => e
          raise unless e.error_number == CHANGED

          discard(@statements.delete(sql))
          raise unless READING.match?(sql) # it has run already: INSERT … RETURNING would run twice

          run_prepared(driver, sql, values)
        end
      end

      def run_prepared(driver, sql, values)
        statement = prepared(sql) { driver.prepare(sql) }
        found = statement.execute(*values, **PREPARED)
        rows = found ? [found.fields, found.to_a] : [[], []]
        Result.new(*rows, affected: statement.affected_rows, last_id: statement.last_id)
      end

      def discard(statement) = statement.close

      def result(driver, found)
        return Result.new(found.fields, found.to_a, affected: found.size) if found

        Result.new([], [], affected: driver.affected_rows, last_id: driver.last_id)
      end

      # Unread rows would block the next call of the connection.
      def each_row(driver, sql, values, &block)
        sql = fill(driver, sql, values)
        Fiber.current_scheduler ? each_row_ahead(driver, sql, &block) : each_row_here(driver, sql, &block)
      end

      def each_row_here(driver, sql)
        found = driver.query(sql, STREAM) or return
        columns = found.fields.each(&:freeze)
        found.each { |row| yield Result.row(columns, row) }
      end

      def each_row_ahead(driver, sql, &block)
        source = ->(&take) { each_row_here(driver, sql, &take) }
        Batches.new(size: Driver::ROWS, stop: -> { driver.cut }, &source).each(&block)
      end

      # The driver's own `ping` waits in C, where no timeout reaches it on a thread.
      def ping(driver) = driver.query("SELECT 1", ROWS).size == 1

      def answer?(error)
        error.is_a?(::Mysql2::Error) && !error.is_a?(::Mysql2::Error::ConnectionError) && !timeout?(error) &&
          !doubtful?(error.error_number)
      end

      def ended?(error) = error.is_a?(::Mysql2::Error) && !timeout?(error)

      # A timeout of the driver, as opposed to the server's "lock wait timeout".
      def timeout?(error) = error.is_a?(::Mysql2::Error::TimeoutError) && error.error_number.nil?

      def idle?(driver) = !driver.closed?

      # The driver does not know whether a transaction is open: each block of `with` costs a ROLLBACK.
      def tidy?(_driver) = false

      def check_still_inside = nil

      def rolled_back?(error) = error.is_a?(::Mysql2::Error) && deadlock?(error.error_number)

      def zone = @options.fetch(:database_timezone, :local)

      # Its finalizer must not send a goodbye to the server.
      def forget(driver) = driver.automatic_close = false
    end
  end
end
