# frozen_string_literal: true

require_relative "refused"

module Plait
  module Suites
    class MongoServer
      # What an update makes of a document.
      module Change
        FAILED_TO_PARSE = 9
        GONE = Object.new.freeze
        # Given what is there, and the operand.
        OPERATORS = {
          "$set" => ->(_, value) { value },
          "$inc" => ->(before, value) { (before || 0) + value },
          "$unset" => ->(_, _) { GONE },
          "$push" => ->(before, value) { [*before, value] }
        }.freeze
        private_constant :FAILED_TO_PARSE, :GONE, :OPERATORS

        # @param document [Hash] unchanged
        # @param change [Hash] operators, or what replaces it
        # @return [Hash]
        def self.apply(document, change)
          return { "_id" => document["_id"] }.merge(change) unless change.keys.first.to_s.start_with?("$")

          change.inject(document) do |changed, (operator, fields)|
            act = OPERATORS.fetch(operator) { raise Refused.new(FAILED_TO_PARSE, "Unknown modifier: #{operator}") }
            fields.inject(changed) { |left, (path, value)| put(left, path.split(".")) { |before| act.call(before, value) } }
          end
        end

        # "a.b" is the b of a, which is made where it is missing.
        def self.put(document, path, &act)
          name, *rest = path
          inner = document[name]
          inner = {} unless rest.empty? || inner.is_a?(Hash)
          value = rest.empty? ? yield(inner) : put(inner, rest, &act)
          value.equal?(GONE) ? document.except(name) : document.merge(name => value)
        end
        private_class_method :put
      end
    end
  end
end
