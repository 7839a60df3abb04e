# frozen_string_literal: true

require "timeout"
require_relative "driver"
require_relative "result"
require_relative "errors"
require_relative "session"
require "plait/values/errors"

Plait::DB::Driver.load("pg", "~> 1.5") { require "pg" }

module Plait
  module DB
    # PostgreSQL by pg, which waits in Ruby: nothing blocks the loop.
    class Postgres < Session
      # Seconds for a server to break off an unwanted statement.
      CANCEL_TIMEOUT = 2
      private_constant :CANCEL_TIMEOUT

      # A PG::Connection that lets one fiber or thread in at a time: in the middle of a call, and while results that were asked
      # for have not been fetched.
      class Connection < ::PG::Connection
        CALLS = %i[exec query exec_params exec_prepared prepare describe_prepared describe_portal send_query send_query_params
                   send_query_prepared send_prepare get_result get_last_result discard_results copy_data get_copy_data
                   put_copy_data put_copy_end transaction reset set_single_row_mode].freeze
        VARIANTS = CALLS.flat_map { |name| [name, :"async_#{name}", :"sync_#{name}"] }
        private_constant :CALLS, :VARIANTS

        # Lets in the fiber whose results are still under way.
        class Owned < Guard
          # @param connection [Connection]
          def initialize(connection)
            super()
            @connection = connection
          end

          # @return [Object] what the block returns
          # @raise [ConnectionInUse]
          def hold
            raise ConnectionInUse if @owner && !@owner.equal?(Fiber.current) && @connection.busy?

            super do
              @owner = Fiber.current
              yield
            end
          end
        end

        prepend Guard.around(VARIANTS & ::PG::Connection.public_instance_methods)

        # @api private
        def plait_guard = @plait_guard ||= Owned.new(self)

        # @return [Boolean] whether an answer is pending
        def busy? = !finished? && transaction_status == ::PG::PQTRANS_ACTIVE

        # The rows of the statement that was just sent come in parts.
        # @param rows [Integer] in a part, where libpq can (17 and later): else one
        def fetch_row_by_row(rows)
          respond_to?(:set_chunked_rows_mode) ? set_chunked_rows_mode(rows) : set_single_row_mode
        end

        # In the child of a fork: the descriptor no longer leads to the server.
        def drop_socket
          File.open(File::NULL, "r+") { |null| IO.for_fd(socket_io.fileno, "r+", autoclose: false).reopen(null) }
        rescue ::PG::Error, SystemCallError
          nil
        end

        # Ends the statement under way and forgets its answer.
        # @param seconds [Numeric] for the server
        # @raise [PG::Error, TimeoutError] when it did not work: the connection is of no more use
        def break_off(seconds)
          Plait.timeout(seconds) do
            cancel
            discard_results
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
        private_constant :KINDS

        class << self
          # @return [PG::TypeMapByClass] what is given for placeholders, as the server reads it: bytes (a String in BINARY), JSON
          #   for a Hash, an Array of the server's for one of Ruby's, times with their zone
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

          # The text of "#<Object:0x00007f>" has no place in a table.
          def coder_for_other(value)
            return TEXT unless value.to_s.start_with?("#<")

            raise UsageError, "a #{value.class} is nothing for SQL: give its text, a number, a time, true, false or nil"
          end

          def coder_for_text(text) = text.encoding == Encoding::BINARY && !text.ascii_only? ? BYTES : TEXT
        end

        TEXT = ::PG::TextEncoder::String.new.freeze
        BYTES = ::PG::BinaryEncoder::Bytea.new(format: 1, oid: 17).freeze
        private_constant :TEXT, :BYTES

        # What is read, by the numbers of the types built into the server (pg_type.dat), which never change: nothing has to be
        # asked.
        # @return [PG::TypeMapByOid]
        def self.map
          ::PG::TypeMapByOid.new.tap do |map|
            map.default_type_map = ::PG::TypeMapAllStrings.new
            KINDS.each { |decoder, oids| oids.each { |oid| map.add_coder(decoder.new(oid: oid, format: 0)) } }
          end
        end
      end
      private_constant :Connection, :Types

      # @return [Array<Module>]
      def self.errors = super + [::PG::Error]

      private

      def connect
        Connection.new(@address.url.sub(/\?.*/m, ""), connect_timeout: 10, **@options).tap do |driver|
          driver.type_map_for_queries = Types.for_queries
        end
      end

      def ask(driver, sql, values) = result(values.empty? ? driver.exec(sql) : driver.exec_params(sql, values))

      # ALTER TABLE makes a prepared statement wrong, DISCARD and a pooler between here and the server make it unknown: it is
      # prepared again then. In a transaction nothing can be asked after an error: the whole block has to be run again.
      def ask_prepared(driver, sql, values)
        result(driver.exec_prepared(name_of(driver, sql), values))
      rescue ::PG::FeatureNotSupported, ::PG::InvalidSqlStatementName
        forget_statement(driver, sql)
        raise unless idle?(driver)

        result(driver.exec_prepared(name_of(driver, sql), values))
      end

      # A name is never used again: one that could not be given up may still be there.
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

      def result(found)
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
        over = !e.is_a?(StandardError) || e.is_a?(::Timeout::Error) # the caller's time: see {Session#hang_up}
        raise
      ensure
        driver.break_off(CANCEL_TIMEOUT) unless whole || over
      end

      def each_of(part, &block)
        part.check
        result(part).each(&block)
      end

      def ping(driver) = driver.exec("").clear.nil?

      # Whatever was raised: the connection itself knows whether an answer is pending.
      def answer?(_error) = @driver && @driver.status == ::PG::CONNECTION_OK && !@driver.busy?

      def idle?(driver) = driver.status == ::PG::CONNECTION_OK && driver.transaction_status == ::PG::PQTRANS_IDLE

      # A transaction in which a statement has failed is answered with ROLLBACK, and no error.
      def commit(driver)
        result = driver.exec("COMMIT")
        raise RolledBack.because(:failed) if result.cmd_status == "ROLLBACK"
      ensure
        result&.clear
      end

      # libpq says goodbye when it is collected, in any case: here it goes to no server.
      def forget(driver) = driver.drop_socket

      # The server would go on with a statement, and keep its locks, although the caller is gone.
      def break_off(driver, _identity) = driver.busy? && Plait.timeout(CANCEL_TIMEOUT) { driver.cancel }
    end
  end
end
