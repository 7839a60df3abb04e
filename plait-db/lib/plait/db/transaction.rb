# frozen_string_literal: true

require_relative "connection_in_use"
require_relative "statement"
require "plait/values/errors"

module Plait
  module DB
    # A transaction under way: the calls of {Database}, on its connection. It belongs to the fiber that has begun it, and to
    # the block it was given to.
    class Transaction
      # @param session [Session]
      def initialize(session)
        @session = session
        @owner = Fiber.current
      end

      # @return [Result] see {Database#query}
      def query(...) = session.query(...)

      # @return [Result] see {Database#execute}
      def execute(...) = session.execute(...)

      # @return [Statement] see {Database#prepare}
      def prepare(sql) = Statement.new(self, sql)

      # @return [void] see {Database#stream}
      def stream(...) = session.stream(...)

      # A savepoint: what the block has done is undone if it raises, the rest is not.
      # @yieldparam transaction [Transaction]
      # @return [Object] what the block returns
      def transaction(&block) = session.transaction(&block)

      # The block has ended.
      # @api private
      def over = @owner = nil

      private

      def session
        return @session if @owner.equal?(Fiber.current)
        raise UsageError, "this transaction is over: it lasts as long as its block" unless @owner

        raise ConnectionInUse, "this transaction belongs to another fiber or thread: begin one in each, or query the " \
                               "database itself"
      end
    end
  end
end
