# frozen_string_literal: true

require "bson"
require_relative "refused"

module Support
  class MongoStandIn
    # Which documents a query is about.
    module Filter
      BAD_VALUE = 2
      ABSENT = Object.new.freeze
      # An Array is found by itself, and by each of its elements.
      COMPARISONS = {
        "$eq" => ->(value, given) { Filter.equal?(value, given) },
        "$ne" => ->(value, given) { !Filter.equal?(value, given) },
        "$gt" => ->(value, given) { Filter.order(value, given)&.positive? },
        "$gte" => ->(value, given) { Filter.order(value, given)&.then { |order| order >= 0 } },
        "$lt" => ->(value, given) { Filter.order(value, given)&.negative? },
        "$lte" => ->(value, given) { Filter.order(value, given)&.then { |order| order <= 0 } },
        "$in" => ->(value, given) { given.any? { |one| Filter.equal?(value, one) } },
        "$nin" => ->(value, given) { given.none? { |one| Filter.equal?(value, one) } }
      }.freeze
      # What has an order that is Ruby's too.
      ORDERED = [Numeric, String, Time, BSON::ObjectId].freeze
      PLAIN = [*ORDERED, Symbol, NilClass, TrueClass, FalseClass, BSON::Binary, BSON::Int32, BSON::Int64].freeze
      private_constant :BAD_VALUE, :ABSENT, :COMPARISONS, :ORDERED, :PLAIN

      module_function

      # Also where there is no document to be looked at.
      # @raise [Refused] when it asks for more than is known here
      def check(filter)
        filter.each do |name, condition|
          if %w[$and $or].include?(name) then condition.each { |part| check(part) }
          elsif name.start_with?("$") then raise Refused.cannot(name)
          else check_condition(condition)
          end
        end
      end

      # @return [Boolean]
      def matches?(document, filter)
        filter.all? do |name, condition|
          case name
          when "$and" then condition.all? { |part| matches?(document, part) }
          when "$or" then condition.any? { |part| matches?(document, part) }
          else holds?(document, name, condition)
          end
        end
      end

      # @param path [String] "a.b" is the b of a
      # @return [Object, nil]
      def value(document, path)
        found = find(document, path)
        found.equal?(ABSENT) ? nil : found
      end

      # A subdocument with the same fields in another order is another one.
      def equal?(value, given)
        same?(value, given) || (value.is_a?(Array) && value.any? { |element| same?(element, given) })
      end

      # @return [Integer, nil] nil: they can't be compared
      # @raise [Refused]
      def order(one, other)
        kinds = [one, other].map { |value| ORDERED.find { |kind| value.is_a?(kind) } }
        return kinds.first == kinds.last ? one <=> other : nil if kinds.all? || one.nil?

        raise Refused.cannot("the order of #{one.class} and #{other.class}")
      end

      def find(document, path)
        path.split(".").inject(document) do |inner, name|
          raise Refused.cannot("#{path}, which leads through an Array") if inner.is_a?(Array)

          inner.is_a?(Hash) ? inner.fetch(name, ABSENT) : ABSENT
        end
      end

      def same?(one, other) = one == other && (!one.is_a?(Hash) || one.to_a == other.to_a)

      def holds?(document, name, condition)
        value = value(document, name)
        return equal?(value, condition) unless operators?(condition)

        condition.all? do |operator, given|
          next find(document, name).equal?(ABSENT) != given if operator == "$exists"

          COMPARISONS.fetch(operator).call(value, given)
        end
      end

      def check_condition(condition)
        return check_value(condition) unless operators?(condition)

        condition.each do |operator, given|
          next if operator == "$exists" && [true, false].include?(given)
          raise Refused.new(BAD_VALUE, "unknown operator: #{operator}") unless COMPARISONS.key?(operator)

          %w[$in $nin].include?(operator) ? given.each { |one| check_value(one) } : check_value(given)
        end
      end

      # A regular expression finds what is like it.
      def check_value(value)
        case value
        when Hash then value.each_value { |inner| check_value(inner) }
        when Array then value.each { |inner| check_value(inner) }
        when *PLAIN then nil
        else raise Refused.cannot("a #{value.class} in a filter")
        end
      end

      def operators?(condition) = condition.is_a?(Hash) && condition.keys.any? { |name| name.start_with?("$") }
      private_class_method :find, :same?, :holds?, :check_condition, :check_value, :operators?
    end
  end
end
