# frozen_string_literal: true

module Support
  class MongoStandIn
    # A command that gets an error for an answer.
    class Refused < StandardError
      UNKNOWN_ERROR = 8
      private_constant :UNKNOWN_ERROR

      # A wrong answer would pass for MongoDB's.
      # @param what [String]
      # @return [Refused]
      def self.cannot(what) = new(UNKNOWN_ERROR, "this stand-in for MongoDB can't do that: #{what}")

      # @return [Integer] MongoDB's
      attr_reader :code

      def initialize(code, message)
        super(message)
        @code = code
      end
    end
  end
end
