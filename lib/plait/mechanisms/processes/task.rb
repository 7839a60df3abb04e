# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # An item that was submitted and has not been answered for.
      class Task
        # @return [Integer]
        attr_reader :index
        # @return [Object]
        attr_reader :item
        # @return [Integer] attempts that ended with the death of their worker
        attr_reader :made
        # @return [Float, nil] when the attempt now running began, if the worker says so
        attr_reader :started_at
        # @return [Integer] its place among all that its worker was sent, from 1
        attr_accessor :number

        def initialize(index, item)
          @index = index
          @item = item
          @made = 0
          @current = 1
        end

        # @return [Integer] attempts begun, if it has been begun at all
        def attempts = @made + @current

        def attempt(number, started_at)
          @current = number
          @started_at = started_at
        end

        # Makes it ready for another worker.
        # @param begun [Boolean] whether the worker that died had begun it
        def reset(begun:)
          @made += @current if begun
          @current = 1
          @started_at = nil
        end
      end
    end
  end
end
