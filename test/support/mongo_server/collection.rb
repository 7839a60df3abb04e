# frozen_string_literal: true

require "bson"
require_relative "change"
require_relative "filter"
require_relative "pipeline"
require_relative "refused"

module Support
  class MongoStandIn
    # Documents by their `_id`, in memory.
    class Collection
      DUPLICATE_KEY = 11_000
      private_constant :DUPLICATE_KEY

      # @return [Hash{String => Hash}] by name
      attr_reader :indexes

      def initialize(name)
        @name = name
        @documents = {}
        @indexes = { "_id_" => { "v" => 2, "key" => { "_id" => 1 }, "name" => "_id_", "unique" => true } }
      end

      # @return [Array<Hash>]
      def find(filter, sort: nil, skip: nil, limit: nil)
        Filter.check(filter)
        found = candidates(filter).select { |document| Filter.matches?(document, filter) }
        found = Pipeline.sort(found, sort) if sort
        found = found.drop(skip) if skip&.positive?
        limit&.positive? ? found.first(limit) : found
      end

      # @return [Array<Hash>]
      def aggregate(stages)
        filter = stages.first&.fetch("$match", nil) || {}
        Filter.check(filter)
        Pipeline.run(candidates(filter), stages)
      end

      # @raise [Refused] when a unique key is taken
      def insert(document)
        document = { "_id" => BSON::ObjectId.new }.merge(document) unless document.key?("_id")
        check_unique(document, nil)
        @sorted = nil
        @documents[same(document["_id"])] = document
      end

      # @return [Array(Integer, Integer, Object)] documents found, documents changed, the `_id` of a new one
      def update(filter, change, multi: false, upsert: false)
        Change.check(change)
        found = find(filter, limit: multi ? nil : 1)
        return [0, 0, upsert ? insert(Change.apply(plain(filter), change))["_id"] : nil] if found.empty?

        @sorted = nil
        changed = found.count do |document|
          fresh = Change.apply(document, change)
          check_unique(fresh, document)
          fresh != document && @documents[same(document["_id"])] = fresh
        end
        [found.size, changed, nil]
      end

      # @param limit [Integer] 0: all
      # @return [Integer] documents that were deleted
      def delete(filter, limit)
        @sorted = nil
        find(filter, limit: limit).each { |document| @documents.delete(same(document["_id"])) }.size
      end

      private

      # By their keys, and by the value of an index, documents are found without looking at all others.
      def candidates(filter)
        key = filter["_id"]
        return by_index(filter) unless filter.key?("_id")
        return @documents.values_at(*key["$in"].map { |one| same(one) }.uniq).compact if key.is_a?(Hash) && key.key?("$in")
        return @documents.values if key.is_a?(Hash)

        @documents.key?(same(key)) ? [@documents[same(key)]] : []
      end

      # To MongoDB 1 and 1.0 are one key.
      def same(value) = value.is_a?(Float) && value.finite? && value == value.to_i ? value.to_i : value

      def by_index(filter)
        name = @indexes.each_value.map { |index| index["key"].keys }.find do |names|
          names.size == 1 && filter.key?(names.first) && !filter[names.first].is_a?(Hash)
        end&.first
        return @documents.values unless name && !name.include?(".")

        sorted(name).fetch(same(filter[name]), [])
      end

      # Of the documents as they are now. An Array is found by each of its elements too.
      def sorted(name)
        @sorted ||= {}
        @sorted[name] ||= @documents.each_value.with_object({}) do |document, lists|
          value = document[name]
          keys = [value, *(value.is_a?(Array) ? value : nil)].map { |one| same(one) }
          keys.uniq.each { |one| (lists[one] ||= []) << document }
        end
      end

      def plain(filter)
        odd = filter.find { |name, value| name.start_with?("$") || name.include?(".") || value.is_a?(Hash) }
        raise Refused.cannot("upsert by #{odd.first}") if odd

        filter
      end

      def check_unique(document, own)
        @indexes.each_value do |index|
          next unless index["unique"]

          key = index["key"].keys.to_h { |path| [path, Filter.value(document, path)] }
          next if find(key).all? { |other| other.equal?(own) }

          raise Refused.new(DUPLICATE_KEY, "E11000 duplicate key error collection: #{@name} index: #{index["name"]} " \
                                           "dup key: #{key}")
        end
      end
    end
  end
end
