# frozen_string_literal: true

require_relative "refused"

module Plait
  module Suites
    class MongoServer
      # What an update makes of a document.
      module Change
        FAILED_TO_PARSE = 9
        OPERATORS = {
          "$set" => ->(document, name, value) { document[name] = value },
          "$inc" => ->(document, name, value) { document[name] = (document[name] || 0) + value },
          "$unset" => ->(document, name, _) { document.delete(name) },
          "$push" => ->(document, name, value) { document[name] = [*document[name], value] }
        }.freeze
        private_constant :FAILED_TO_PARSE, :OPERATORS

        # @param document [Hash] unchanged
        # @param change [Hash] operators, or what replaces it
        # @return [Hash]
        def self.apply(document, change)
          return { "_id" => document["_id"] }.merge(change) unless change.keys.first.to_s.start_with?("$")

          change.each_with_object(document.dup) do |(operator, fields), changed|
            act = OPERATORS.fetch(operator) { raise Refused.new(FAILED_TO_PARSE, "Unknown modifier: #{operator}") }
            fields.each { |name, value| act.call(changed, name, value) }
          end
        end
      end
    end
  end
end
