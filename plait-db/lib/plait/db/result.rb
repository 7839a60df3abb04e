# frozen_string_literal: true

module Plait
  module DB
    # The result of a statement.
    class Result
      include Enumerable

      # @return [Array<String>] names of columns
      attr_reader :columns
      # @return [Array<Array>] values in the order of the columns
      attr_reader :rows
      # @return [Integer, nil] rows that were inserted, updated or deleted, where the driver says so
      attr_reader :affected
      # @return [Integer, nil] the key that MySQL or SQLite has given to a new row
      attr_reader :last_id

      # @param columns [Array<String>]
      # @param rows [Array<Array>]
      # @param affected [Integer, nil]
      # @param last_id [Integer, nil]
      def initialize(columns, rows, affected: nil, last_id: nil)
        @columns = columns.each(&:freeze) # a Hash copies a key that is not
        @rows = rows
        @affected = affected
        @last_id = last_id
      end

      # @yieldparam row [Hash{String => Object}]
      # @return [Enumerator, self]
      def each
        return to_enum { size } unless block_given?

        @rows.each { |row| yield Result.row(@columns, row) }
        self
      end

      # Makes no object except the Hash: with many results at once, memory is the cost.
      # @param columns [Array<String>]
      # @param row [Array]
      # @return [Hash{String => Object}]
      def self.row(columns, row)
        hash = {}
        at = 0
        while at < columns.size
          hash[columns[at]] = row[at]
          at += 1
        end
        hash
      end

      # @return [Integer] rows
      def size = @rows.size

      # @return [Boolean]
      def empty? = @rows.empty?

      # @return [Object, nil] the first value of the first row
      def value = @rows.dig(0, 0)

      # @return [String]
      def inspect = "#<#{self.class} #{size} rows of #{@columns.join(", ")}>"
    end

    # A statement that each connection prepares once, when it first needs it.
    class Statement
      # @return [String]
      attr_reader :sql

      # @param database [Database, Transaction]
      # @param sql [String]
      def initialize(database, sql)
        @database = database
        @sql = sql
      end

      # @param values [Array] for its placeholders
      # @return [Result]
      def call(*values) = @database.execute(@sql, *values)
    end
  end
end
