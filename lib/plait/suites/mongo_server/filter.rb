# frozen_string_literal: true

require_relative "refused"

module Plait
  module Suites
    class MongoServer
      # Which documents a query is about.
      module Filter
        BAD_VALUE = 2
        COMPARISONS = {
          "$eq" => ->(value, given) { value == given || (value.is_a?(Array) && value.include?(given)) },
          "$ne" => ->(value, given) { value != given },
          "$gt" => ->(value, given) { Filter.order(value, given)&.positive? },
          "$gte" => ->(value, given) { Filter.order(value, given)&.then { |order| order >= 0 } },
          "$lt" => ->(value, given) { Filter.order(value, given)&.negative? },
          "$lte" => ->(value, given) { Filter.order(value, given)&.then { |order| order <= 0 } },
          "$in" => ->(value, given) { given.include?(value) },
          "$nin" => ->(value, given) { !given.include?(value) },
          "$exists" => ->(value, given) { value.nil? ^ given }
        }.freeze
        private_constant :BAD_VALUE, :COMPARISONS

        module_function

        # @return [Boolean]
        def matches?(document, filter)
          filter.all? do |name, condition|
            case name
            when "$and" then condition.all? { |part| matches?(document, part) }
            when "$or" then condition.any? { |part| matches?(document, part) }
            else holds?(value(document, name), condition)
            end
          end
        end

        # @param path [String] "a.b" is the b of a
        # @return [Object, nil]
        def value(document, path)
          path.split(".").inject(document) { |inner, name| inner.is_a?(Hash) ? inner[name] : nil }
        end

        # @return [Integer, nil] nil: they can't be compared
        def order(one, other) = one.nil? || other.nil? ? nil : one <=> other

        def holds?(value, condition)
          return COMPARISONS.fetch("$eq").call(value, condition) unless operators?(condition)

          condition.all? do |operator, given|
            comparison = COMPARISONS.fetch(operator) { raise Refused.new(BAD_VALUE, "unknown operator: #{operator}") }
            comparison.call(value, given)
          end
        end

        def operators?(condition) = condition.is_a?(Hash) && condition.keys.first.to_s.start_with?("$")
        private_class_method :holds?, :operators?
      end
    end
  end
end
