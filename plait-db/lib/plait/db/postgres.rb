# frozen_string_literal: true

Plait::DB::Driver.load("pg", "~> 1.5") { require "pg" }

module Plait
  module DB
    # PostgreSQL by pg, which waits in Ruby: it never blocks the loop.
    class Postgres < Session
      # Seconds for a server to break off a statement.
      CANCEL_TIMEOUT = 2
      # Seconds between two cancellations of the same statement.
      AGAIN = 0.1
      COPIES = [::PG::PGRES_COPY_OUT, ::PG::PGRES_COPY_IN, ::PG::PGRES_COPY_BOTH].freeze

      # A PG::Connection that one fiber or thread at a time may call: during a call, and until its results are fetched.
      class Connection < ::PG::Connection
        CALLS = %i[exec query exec_params exec_prepared prepare describe_prepared describe_portal send_query send_query_params
                   send_query_prepared send_prepare get_result get_last_result discard_results copy_data get_copy_data
                   put_copy_data put_copy_end transaction reset set_single_row_mode].freeze
        VARIANTS = CALLS.flat_map { |name| [name, :"async_#{name}", :"sync_#{name}"] }

        # Only the fiber whose results are under way may call.
        class Owned < Guard
          def initialize(connection)
            super()
            @connection = connection
          end

          # The call of its owner was interrupted.
          def free = @owner = nil

          # @return [Object] the block's value
          def hold
            raise ConnectionInUse if @owner && !@owner.equal?(Fiber.current) && @connection.busy?

            super do
              @owner = Fiber.current
              yield
            end
          end
        end

        prepend Guard.around(VARIANTS & ::PG::Connection.public_instance_methods)

        def plait_guard = @plait_guard ||= Owned.new(self)

        # @return [Boolean] whether an answer is pending
        def busy? = !finished? && transaction_status == ::PG::PQTRANS_ACTIVE

        # The rows of the statement that was just sent come in parts.
        # @param rows [Integer] in a part, where libpq can (17 and later): else one
        def fetch_row_by_row(rows) = respond_to?(:set_chunked_rows_mode) ? set_chunked_rows_mode(rows) : set_single_row_mode

        # In the child of a fork: turns the descriptor into one of the null device.
        def drop_socket
          File.open(File::NULL, "r+") { |null| IO.for_fd(socket_io.fileno, "r+", autoclose: false).reopen(null) }
        rescue ::PG::Error, SystemCallError
          nil
        end

        # Ends the statement under way and discards its answer. A late cancellation is no danger: the server gets it before the
        # next statement, and ignores it between two.
        # @param seconds [Numeric] for the server
        # @raise [PG::Error, TimeoutError] without success: the connection can't be used again
        def break_off(seconds)
          Plait.timeout(seconds) do
            cancel_until_answered if busy?
            plait_guard.free
            discard_results
          end
        end

        # Ends all that a caller can leave behind: a transaction, settings, locks, prepared statements.
        # @return [Boolean] true
        # @raise (see #break_off)
        def renew(seconds)
          Plait.timeout(seconds) do
            exec("ROLLBACK").clear unless transaction_status == ::PG::PQTRANS_IDLE
            exec("DISCARD ALL").clear
          end
          true
        end

        private

        # A server ignores a cancellation that comes before the statement; a server that answers has started it.
        def cancel_until_answered
          loop do
            cancel
            return if !is_busy || socket_io.wait_readable(AGAIN)
          end
        end
      end

      # Ruby's classes for the server's types: numbers, true and false, times and dates, JSON, bytes; all else is text.
      module Types
        KINDS = {
          ::PG::TextDecoder::Boolean => [16], ::PG::TextDecoder::Bytea => [17], ::PG::TextDecoder::Integer => [20, 21, 23, 26],
          ::PG::TextDecoder::Float => [700, 701], ::PG::TextDecoder::Numeric => [1700], ::PG::TextDecoder::Date => [1082],
          ::PG::TextDecoder::TimestampWithoutTimeZone => [1114], ::PG::TextDecoder::TimestampWithTimeZone => [1184],
          ::PG::TextDecoder::JSON => [114, 3802]
        }.freeze

        class << self
          # @return [PG::TypeMapByClass] encoders of values for placeholders: bytes for a String in BINARY, JSON for a Hash, an
          #   array of the server for an Array, a time with its zone
          def for_queries
            ::PG::TypeMapByClass.new.tap do |map|
              map[::String] = method(:coder_for_text)
              map[::Hash] = ::PG::TextEncoder::JSON.new
              map[::Array] = ::PG::TextEncoder::Array.new(elements_type: ::PG::TextEncoder::String.new)
              map[::Time] = ::PG::TextEncoder::TimestampWithTimeZone.new
              map[::Object] = method(:coder_for_other)
            end
          end

          private

          # The text "#<Object:0x00007f>" is a mistake in a table.
          def coder_for_other(value)
            return TEXT unless value.to_s.start_with?("#<")

            raise UsageError, "a #{value.class} is nothing for SQL: give its text, a number, a time, true, false or nil"
          end

          def coder_for_text(text) = text.encoding == Encoding::BINARY && !text.ascii_only? ? BYTES : TEXT
        end

        TEXT = ::PG::TextEncoder::String.new.freeze
        BYTES = ::PG::BinaryEncoder::Bytea.new(format: 1, oid: 17).freeze

        # Decoders by the numbers of the server's built-in types (pg_type.dat), which never change: no query is needed.
        def self.map
          ::PG::TypeMapByOid.new.tap do |map|
            map.default_type_map = ::PG::TypeMapAllStrings.new
            KINDS.each { |decoder, oids| oids.each { |oid| map.add_coder(decoder.new(oid: oid, format: 0)) } }
          end
        end
      end
      private_constant :CANCEL_TIMEOUT, :AGAIN, :COPIES, :Connection, :Types

      def self.errors = super + [::PG::Error]

      private

      def connect
        Driver.ready(Connection.new(@address.url.sub(/\?.*/m, ""), connect_timeout: 10, **@options))
              .tap { |driver| driver.type_map_for_queries = Types.for_queries }
      end

      def ask(driver, sql, values) = result(values.empty? ? driver.exec(sql) : driver.exec_params(sql, values))

      # ALTER TABLE makes a prepared statement wrong; DISCARD, or a pooler before the server, makes it unknown. Then it is
      # prepared again. In a transaction no query works after an error: the whole block has to run again.
      def ask_prepared(driver, sql, values)
        result(driver.exec_prepared(name_of(driver, sql), values))
      rescue ::PG::FeatureNotSupported, ::PG::InvalidSqlStatementName
        forget_statement(driver, sql)
        raise unless idle?(driver)

        result(driver.exec_prepared(name_of(driver, sql), values))
      end

      # A name is never used again: the server may still have a statement that could not be discarded.
      def name_of(driver, sql)
        prepared(sql) { "plait_#{@names = (@names || 0) + 1}".tap { |name| driver.prepare(name, sql) } }
      end

      def forget_statement(driver, sql)
        name = @statements.delete(sql)
        discard(name) if name && idle?(driver)
      rescue ::PG::InvalidSqlStatementName
        nil
      end

      # In a transaction that has failed it can't be given up.
      def discard(name) = @driver.transaction_status == ::PG::PQTRANS_INERROR || @driver.exec("DEALLOCATE #{name}")

      # pg 1.7.0 crashes where a COPY is asked for its columns.
      def result(found)
        if COPIES.include?(found.result_status)
          raise UnsupportedError, "COPY needs the driver: `with { |connection| connection.copy_data(sql) { … } }`"
        end

        found.type_map = @types ||= Types.map
        Result.new(found.fields, found.values, affected: found.cmd_tuples)
      ensure
        found.clear
      end

      def each_row(driver, sql, values, &block)
        driver.send_query_params(sql, values)
        driver.fetch_row_by_row(Driver::ROWS)
        while (part = driver.get_result)
          each_of(part, &block)
          Driver.give_turn
        end
        whole = true
      rescue Exception => e # rubocop:disable Lint/RescueException
        over = !e.is_a?(StandardError) || e.is_a?(::Timeout::Error) # the caller's time is over: see {Session#hang_up}
        raise
      ensure
        driver.break_off(CANCEL_TIMEOUT) unless whole || over
      end

      def each_of(part, &block)
        part.check
        result(part).each(&block)
      end

      def ping(driver) = driver.exec("").clear.nil?

      # The connection itself knows whether an answer is pending, after any error.
      def answer?(_error) = @driver && @driver.status == ::PG::CONNECTION_OK && !@driver.busy?

      def idle?(driver) = driver.status == ::PG::CONNECTION_OK && driver.transaction_status == ::PG::PQTRANS_IDLE

      # After a failed statement the server answers COMMIT with ROLLBACK, and without an error.
      def commit(driver)
        result = driver.exec("COMMIT")
        raise RolledBack.because(:failed) if result.cmd_status == "ROLLBACK"
      ensure
        result&.clear
      end

      # The finalizer of libpq always sends a goodbye: it must not reach the server.
      def forget(driver) = driver.drop_socket

      # The server would run the statement, and keep its locks, although the caller is gone.
      def break_off(driver, _identity)
        driver.break_off(CANCEL_TIMEOUT)
        driver.renew(CANCEL_TIMEOUT)
      end
    end
  end
end
