# frozen_string_literal: true

require_relative "filter"
require_relative "refused"

module Support
  class MongoStandIn
    # The stages of an aggregation.
    module Pipeline
      UNKNOWN_STAGE = 40_324
      UNKNOWN_OPERATOR = 15_952
      STAGES = {
        "$match" => lambda do |documents, filter|
          Filter.check(filter)
          documents.select { |document| Filter.matches?(document, filter) }
        end,
        "$sort" => ->(documents, order) { Pipeline.sort(documents, order) },
        "$skip" => ->(documents, count) { documents.drop(count) },
        "$limit" => ->(documents, count) { documents.first(count) },
        "$count" => ->(documents, name) { documents.empty? ? [] : [{ name => documents.size }] },
        "$group" => ->(documents, group) { Pipeline.group(documents, group) }
      }.freeze
      ACCUMULATORS = {
        "$sum" => :sum.to_proc, "$avg" => ->(values) { values.empty? ? nil : values.sum.fdiv(values.size) },
        "$min" => :min.to_proc, "$max" => :max.to_proc
      }.freeze
      private_constant :UNKNOWN_STAGE, :UNKNOWN_OPERATOR, :STAGES, :ACCUMULATORS

      module_function

      # @return [Array<Hash>]
      def run(documents, stages)
        stages.inject(documents) do |left, stage|
          raise Refused.cannot("several stages in one") if stage.size > 1

          name, given = stage.first
          STAGES.fetch(name) { raise Refused.new(UNKNOWN_STAGE, "Unrecognized pipeline stage name: '#{name}'") }
                .call(left, given)
        end
      end

      # @param order [Hash{String => Integer}] 1 or -1 for each field
      # @return [Array<Hash>]
      def sort(documents, order)
        raise Refused.cannot("a sort by #{order}") if (order.values - [1, -1]).any?

        documents.sort do |one, other|
          order.each do |path, direction|
            result = compare(Filter.value(one, path), Filter.value(other, path)) * direction
            break result unless result.zero?
          end.then { |result| result.is_a?(Integer) ? result : 0 }
        end
      end

      # @return [Array<Hash>] one for each different `_id`
      def group(documents, group)
        documents.group_by { |document| expression(document, group["_id"]) }.map do |id, members|
          { "_id" => id }.merge(group.except("_id").transform_values { |given| accumulate(members, given) })
        end
      end

      # Nothing comes before everything.
      def compare(one, other)
        return (one.nil? ? 0 : 1) - (other.nil? ? 0 : 1) if one.nil? || other.nil?

        Filter.order(one, other) or raise Refused.cannot("the order of #{one.class} and #{other.class}")
      end

      def accumulate(members, given)
        operator, field = given.first
        act = ACCUMULATORS.fetch(operator) { raise Refused.new(UNKNOWN_OPERATOR, "unknown group operator '#{operator}'") }
        act.call(members.map { |member| expression(member, field) }.compact)
      end

      # "$name" is a field's value.
      def expression(document, given)
        if given.is_a?(Hash) || given.is_a?(Array) || given.to_s.start_with?("$$")
          raise Refused.cannot("the expression #{given}")
        end

        given.is_a?(String) && given.start_with?("$") ? Filter.value(document, given.delete_prefix("$")) : given
      end
      private_class_method :compare, :accumulate, :expression
    end
  end
end
