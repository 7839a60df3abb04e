# frozen_string_literal: true

require_relative "version"
require_relative "../delayed"

module Plait
  module RPC
    module Compat
      # A result that a method returns before it has it.
      class AsyncResult < Delayed
        # An error that is told as it was given.
        class Failure < StandardError
          # @return [Array(Object, Object)]
          attr_reader :to_rpc_error

          # @param error [Object]
          # @param value [Object] what goes in the place of the result
          def initialize(error, value)
            super("told to the peer")
            @to_rpc_error = [error, value]
          end
        end
        private_constant :Failure

        # The first word counts.
        # @param value [Object]
        # @param error [Object, nil]
        # @return [nil]
        def result(value, error = nil)
          error.nil? ? super(value) : settle { |incoming| incoming.fail(Failure.new(error, value)) }
          nil
        end

        # @param error [Object]
        # @return [nil]
        def error(error) = result(nil, error)
      end
    end
  end
end
