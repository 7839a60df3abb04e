# frozen_string_literal: true

module Plait
  module DB
    # What a statement has given.
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
        @columns = columns
        @rows = rows
        @affected = affected
        @last_id = last_id
      end

      # @yieldparam row [Hash{String => Object}]
      # @return [Enumerator, self]
      def each
        return to_enum { size } unless block_given?

        @rows.each { |row| yield @columns.zip(row).to_h }
        self
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
  end
end
