# frozen_string_literal: true

module Plait
  module DB
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
