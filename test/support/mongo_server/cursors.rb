# frozen_string_literal: true

require "bson"
require_relative "refused"

module Support
  class MongoStandIn
    # Results that are fetched in parts.
    class Cursors
      # Documents in the first part, where nothing is said.
      BATCH = 101
      NOT_FOUND = 43
      private_constant :BATCH, :NOT_FOUND

      def initialize
        @left = {}
        @last = 0
      end

      # @return [Hash] the first part
      def open(namespace, documents, size, single: false)
        first = documents.first(size || BATCH)
        rest = documents.drop(first.size)
        id = rest.empty? || single ? 0 : keep(rest)
        { "cursor" => { "id" => BSON::Int64.new(id), "ns" => namespace, "firstBatch" => first } }
      end

      # @return [Hash] the next part
      def advance(id, namespace, size)
        rest = @left.delete(id) { raise Refused.new(NOT_FOUND, "cursor id #{id} not found") }
        part = rest.first(size || rest.size)
        @left[id] = rest.drop(part.size) if part.size < rest.size
        { "cursor" => { "id" => BSON::Int64.new(@left.key?(id) ? id : 0), "ns" => namespace, "nextBatch" => part } }
      end

      # @return [Array<Integer>] those that there were
      def close(ids) = ids.select { |id| @left.delete(id) }

      private

      def keep(documents)
        @left[@last += 1] = documents
        @last
      end
    end
  end
end
