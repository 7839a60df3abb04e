# frozen_string_literal: true

require "plait/io/native"

Plait::DB::Driver.load("sqlite3", ">= 1.7", "< 3") { require "sqlite3" }

module Plait
  module DB
    # SQLite by sqlite3. It computes in this process, and keeps Ruby's lock meanwhile. No mechanism makes its queries faster, but
    # other threads and fibers run every {Pace::SLICE} seconds. A connection waits `busy_timeout` milliseconds for a lock of
    # another one, while other threads and fibers run.
    class Sqlite < Session
      # Blanks and comments, without a statement.
      NOTHING = %r{\A(?:\s|;|--[^\n]*|/\*.*?\*/)*\z}m

      # The guard of a connection, and the callbacks of SQLite while it computes. No exception may pass through SQLite, so an
      # interrupt (a timeout, a cancellation, a kill) is kept until SQLite returns.
      class Pace < Guard
        # Seconds of computing after which other threads and fibers run.
        SLICE = 0.001
        # Seconds before the first, second … attempt to get a lock.
        PAUSES = [0.001, 0.002, 0.005, 0.01].freeze
        KILLED = Object.new.freeze

        class << self
          # Makes SQLite call {turn} while a connection computes, and {locked} while it waits for a lock. Without the extension,
          # or where the driver loads no extensions, SQLite blocks all threads until it has its answer.
          # @return [Integer, nil] the address of its file, see {Connection#discard}; nil: without the extension
          def install(connection)
            return unless Native.available? && connection.respond_to?(:load_extension)

            load_into(connection)
            Native.sqlite_file(connection)
          rescue ::SQLite3::Exception
            nil
          end

          # The extension calls it in the middle of a statement, on the stack of its fiber.
          # @return [Boolean] whether the statement has to end
          def turn
            pace = Thread.current[:plait_sqlite_pace]
            pace ? pace.turn : false
          end

          # As {turn}, while another connection has the lock.
          # @param tries [Integer] so far
          # @return [Boolean] whether to try again
          def locked(tries)
            pace = Thread.current[:plait_sqlite_pace]
            pace ? pace.await_lock(tries) : false
          end

          # @param error [Exception, nil] that {turn} or {locked} has raised; nil: a kill
          def keep_error(error) = Thread.current[:plait_sqlite_pace]&.keep_error(error)

          private

          # If loading stayed enabled, SQL could load any library.
          def load_into(connection)
            connection.enable_load_extension(true)
            connection.load_extension(Native.path("plait_io"))
          ensure
            connection.enable_load_extension(false)
          end
        end

        # Seconds to wait for a lock.
        attr_writer :patience

        # @return [Boolean] whether this fiber is in {step}
        def stepping? = @stepping && @lock.owned?

        # @return [Object] the block's value
        # @raise [Exception] a kept interrupt
        def hold
          return yield if @lock.owned?

          super do
            outer = Thread.current[:plait_sqlite_pace]
            Thread.current[:plait_sqlite_pace] = self
            yield
          ensure
            Thread.current[:plait_sqlite_pace] = outer
          end
        rescue ::SQLite3::Exception
          raise_kept
          raise
        end

        # As {hold}, around a call of SQLite. An interrupt of a thread has to wait until SQLite returns: the end of a narrower
        # block of `handle_interrupt` would raise it. A fiber gets its interrupt in the middle of its wait.
        # @return [Object] the block's value
        def step(&block)
          return yield if stepping?

          hold do
            # A pending interrupt is masked by the caller, which still wants the answer.
            @masked = Thread.pending_interrupt?
            @stepping = true
            Fiber.current_scheduler ? yield : Uninterruptible.run(&block)
          ensure
            @stepping = false
          end
        end

        # @return [Boolean] whether the statement has to end
        def turn
          Fiber.current_scheduler ? rest(0) : keep { Thread.pass }
          ended?
        end

        # @param tries [Integer] so far
        # @return [Boolean] whether to try again
        def await_lock(tries)
          @limit = Deadline.after(@patience) if tries.zero?
          return false if @limit.expired?

          rest(PAUSES.fetch(tries, PAUSES.last))
          !ended?
        end

        # @param error see {Pace.keep_error}
        def keep_error(error) = @kept = error || KILLED

        private

        def rest(seconds) = keep { sleep(seconds) }

        def ended? = !@kept.nil? || (!@masked && Thread.pending_interrupt?)

        # A kill is no exception: only the missing end of the block shows it.
        def keep
          @kept = KILLED
          yield
          @kept = nil
        rescue Exception => e # rubocop:disable Lint/RescueException
          @kept = e
        end

        def raise_kept
          kept, @kept = @kept, nil
          return unless kept

          kept.equal?(KILLED) ? Thread.current.kill : raise(kept)
        end
      end

      # A SQLite3::Database that lets other threads and fibers run while it computes or waits for a lock. One fiber or thread at a
      # time may call it.
      class Connection < ::SQLite3::Database
        # Methods that take no lock of SQLite. Any other one would hold Ruby's lock while it waits for a statement of another
        # thread, which needs Ruby's lock to end.
        FREE = %i[closed? complete? interrupt prepare readonly? translator type_translation= collations results_as_hash
                  results_as_hash= discard plait_guard wait_for_locks in_one].freeze

        # Its methods are calls of its connection.
        class Statement < ::SQLite3::Statement
          FREE = %i[closed? done? remainder active? must_be_open! step].freeze
          private_constant :FREE

          attr_reader :plait_guard

          def initialize(connection, sql)
            @plait_guard = connection.plait_guard
            super
          end

          # @return [Array, nil] the next row
          def step = plait_guard.stepping? ? super : plait_guard.step { super }

          prepend Guard.around(::SQLite3::Statement.public_instance_methods(false) - FREE)
        end

        prepend Guard.around(::SQLite3::Database.public_instance_methods(false) - FREE)

        def plait_guard = @plait_guard ||= Pace.new

        # In the child of a fork the gem sqlite3 2 closes connections of the parent, with a warning. Another thread of it may
        # have the guard of this one; {#discard} needs no guard.
        def closed? = inherited? || super

        # The driver's method makes a statement of its own class.
        # @return [SQLite3::Statement]; with a block: the block's value
        def prepare(sql)
          statement = plait_guard.step { Statement.new(self, sql) }
          return statement unless block_given?

          begin
            yield statement
          ensure
            statement.close unless statement.closed?
          end
        end

        # @param milliseconds [Numeric] for which a lock of another connection is awaited
        def wait_for_locks(milliseconds)
          @generation = Native.fork_generation
          plait_guard.patience = milliseconds / 1000.0
          @file = Pace.install(self)
          busy_handler { |tries| plait_guard.await_lock(tries) } unless @file
        end

        # Around all steps of a statement: the guard costs 5 µs. Without the extension nothing would interrupt it.
        def in_one(&block) = @file ? plait_guard.step(&block) : plait_guard.hold(&block)

        # In the child of a fork: closes the file descriptor alone. SQLite's own end would roll back the parent's transaction, in
        # the parent's file, and delete the parent's journal. It needs the extension.
        def discard
          return unless @file

          statements = ObjectSpace.each_object(Statement).select { |statement| statement.plait_guard.equal?(plait_guard) }
          Native.discard_sqlite(self, @file, statements)
        end

        private

        def inherited? = !@generation.nil? && @generation != Native.fork_generation
      end

      # Ruby's values as SQLite's five types: true and false as 1 and 0, times and dates in the format of its date functions,
      # decimals as text, which a numeric column converts.
      module Values
        module_function

        # @raise [UsageError]
        def for(value)
          case value
          when nil, Integer, Float, String then value
          when true then 1
          when false then 0
          when Symbol then value.to_s
          when Time then value.getutc.strftime("%F %T.%6N")
          else other(value)
          end
        end

        # Values of classes that a program may not have loaded.
        def other(value)
          return value.to_s("F") if defined?(BigDecimal) && value.is_a?(BigDecimal) && value.finite?
          return value.to_time.getutc.strftime("%F %T.%6N") if defined?(DateTime) && value.is_a?(DateTime)
          return value.strftime("%F") if defined?(Date) && value.is_a?(Date)

          raise UsageError, "a #{value.class} is nothing for SQLite: give its text, a number, a time, true, false or nil"
        end
      end
      private_constant :NOTHING, :Pace, :Connection, :Values

      class << self
        # The name of a file may have any character.
        def open(address, options) = Database.new(self, address, options)

        # Each connection to a database in memory is a database of its own.
        def pool_options(address) = in_memory?(address) ? { size: 1 } : {}

        def errors = super + [::SQLite3::Exception]

        def check_pool(address, options)
          return unless in_memory?(address) && (options[:size] > 1 || options[:max_lifetime] || options[:idle_timeout])

          raise UsageError, "a database in memory lasts as long as its one connection: no size: but 1, no max_lifetime: and no " \
                            "idle_timeout:"
        end

        private

        def in_memory?(address) = ["", ":memory:"].include?(address.file)
      end

      private

      # Opening a file does not wait, so it needs no thread.
      def connect_again = Thread.handle_interrupt(Object => :never) { @driver = connect }

      def connect
        about = { busy_timeout: 5000, **@options }
        Connection.new(@address.file, about.except(:busy_timeout)).tap { |driver| driver.wait_for_locks(about[:busy_timeout]) }
      end

      def ask(driver, sql, values)
        driver.in_one do
          statement = compile(driver, sql)
          run(driver, statement, values)
        ensure
          statement&.close
        end
      end

      def ask_prepared(driver, sql, values)
        driver.in_one do
          statement = prepared(sql) { compile(driver, sql) }
          run(driver, statement, values)
        ensure
          statement.reset! if statement && !statement.closed?
        end
      end

      # SQLite would run the first statement, and ignore the rest without an error.
      def compile(driver, sql)
        statement = driver.prepare(sql)
        return statement if NOTHING.match?(statement.remainder)

        statement.close
        raise UsageError, "one statement at a time: nothing was done of #{sql}"
      end

      def discard(statement) = statement.close

      # SQLite keeps a connection open, and its locks, for as long as it has a statement.
      def forget_statements
        @statements.each_value { |statement| statement.close unless statement.closed? }
        super
      end

      def run(driver, statement, values)
        rows = all_rows(bind(statement, values))
        return Result.new(columns(statement), rows, affected: rows.size) if statement.column_count.positive?

        Result.new([], [], affected: driver.changes, last_id: driver.last_insert_row_id)
      end

      # The driver's own loop asks the statement for its columns at each row: 3 µs.
      def all_rows(statement)
        rows = []
        while (row = statement.step)
          rows << row
        end
        rows
      end

      # Reads the names at each call: the driver caches them, and SQLite compiles a statement again when its tables have changed.
      def columns(statement) = Array.new(statement.column_count) { |number| statement.column_name(number) }

      def bind(statement, values)
        statement.clear_bindings! # of its last call
        return bind_names(statement, values.first) if values.size == 1 && values.first.is_a?(Hash)

        count = statement.bind_parameter_count
        unless values.size == count
          raise UsageError, "#{values.size} values were given for #{count} placeholders of the statement"
        end

        statement.tap { statement.bind_params(*values.map { |value| Values.for(value) }) }
      end

      def bind_names(statement, values)
        statement.tap { statement.bind_params(values.transform_values { |value| Values.for(value) }) }
      end

      def each_row(driver, sql, values)
        statement = compile(driver, sql)
        columns = statement.columns.each(&:freeze)
        Driver.each_in_turns(bind(statement, values).execute) { |row| yield Result.row(columns, row) }
      ensure
        statement.close if statement && !statement.closed?
      end

      # Of two transactions that begin with reading only one can write later. IMMEDIATE decides that at the start.
      def begin_statement = @options[:readonly] ? "BEGIN" : "BEGIN IMMEDIATE"

      # An interrupt of a thread comes after the result of COMMIT is known. It ends a COMMIT that waits for a lock, see
      # {Pace#step}. A fiber gets an interrupt only in such a wait.
      def undisturbed(&block) = Fiber.current_scheduler ? yield : Thread.handle_interrupt(Object => :never, &block)

      # The result is always known: SQLite runs in this process.
      def commit_unknown? = false

      def ping(_driver) = true

      def answer?(error) = error.is_a?(::SQLite3::Exception)

      def idle?(driver) = !driver.closed? && !driver.transaction_active?

      # In the child of a fork an ordinary end would undo the parent's transaction.
      def forget(driver) = driver.discard

      # SQLite rolls back by itself when the disk is full, for instance.
      def rolled_back?(_error) = inside? && @driver && !@driver.closed? && !@driver.transaction_active?
    end
  end
end
