# frozen_string_literal: true

module Plait
  module Suites
    class MongoServer
      # A command that gets an error for an answer.
      class Refused < StandardError
        # @return [Integer] MongoDB's
        attr_reader :code

        def initialize(code, message)
          super(message)
          @code = code
        end
      end
    end
  end
end
