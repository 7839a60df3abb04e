# frozen_string_literal: true

require_relative "refused"

module Support
  class MongoStandIn
    # What an update makes of a document.
    module Change
      FAILED_TO_PARSE = 9
      GONE = Object.new.freeze
      # Given what is there, and the operand.
      OPERATORS = {
        "$set" => ->(_, value) { value },
        "$inc" => ->(before, value) { (before || 0) + value },
        "$unset" => ->(_, _) { GONE },
        "$push" => lambda do |before, value|
          raise Refused.cannot("$push to what is no Array") unless before.nil? || before.is_a?(Array)

          [*before, value]
        end
      }.freeze
      private_constant :FAILED_TO_PARSE, :GONE, :OPERATORS

      # Also where there is no document to be changed.
      # @raise [Refused] when it asks for more than is known here
      def self.check(change)
        raise Refused.cannot("a pipeline") if change.is_a?(Array)
        return unless change.keys.any? { |name| name.start_with?("$") }

        change.each do |operator, fields|
          raise Refused.new(FAILED_TO_PARSE, "Unknown modifier: #{operator}") unless OPERATORS.key?(operator)
          raise Refused.cannot("another _id") if fields.key?("_id")

          check_push(fields) if operator == "$push"
        end
      end

      def self.check_push(fields)
        words = fields.values.grep(Hash).flat_map(&:keys).grep(/\A\$/)
        raise Refused.cannot("$push with #{words.join(", ")}") if words.any?
      end

      # @param document [Hash] unchanged
      # @param change [Hash] operators, or what replaces it
      # @return [Hash]
      def self.apply(document, change)
        return { "_id" => document["_id"] }.merge(change) unless change.keys.first.to_s.start_with?("$")

        change.inject(document) do |changed, (operator, fields)|
          act = OPERATORS.fetch(operator)
          fields.inject(changed) { |left, (path, value)| put(left, path.split(".")) { |before| act.call(before, value) } }
        end
      end

      # "a.b" is the b of a, which is made where it is missing.
      def self.put(document, path, &act)
        name, *rest = path
        inner = document[name]
        unless rest.empty? || inner.is_a?(Hash)
          raise Refused.cannot("#{name}.#{rest.join(".")} in what is no document") unless inner.nil?

          inner = {}
        end
        value = rest.empty? ? yield(inner) : put(inner, rest, &act)
        value.equal?(GONE) ? document.except(name) : document.merge(name => value)
      end
      private_class_method :check_push, :put
    end
  end
end
