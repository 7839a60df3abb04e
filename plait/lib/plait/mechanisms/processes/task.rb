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
        # @return [Integer] attempts begun, if it has been begun at all
        attr_reader :attempts
        # @return [Float, nil] when the block that is running began, if the worker says so
        attr_reader :started_at
        # @return [Integer] its place among all that its worker was sent, from 1
        attr_accessor :number

        def initialize(index, item)
          @index = index
          @item = item
          @made = 0
          reset(begun: false)
        end

        # @return [Boolean] whether the worker has said that it has begun it
        def begun? = @begun

        # @param number [Integer] of the attempt, from 1
        # @param started_at [Float] 0.0: its block is not running
        def attempt(number, started_at)
          @begun = true
          @attempts = number
          @started_at = (started_at if started_at.positive?)
        end

        # Makes it ready for another worker.
        # @param begun [Boolean] whether the worker that died had begun it
        def reset(begun:)
          @made = @attempts if begun
          @attempts = @made + 1
          @begun = false
          @started_at = nil
        end
      end
    end
  end
end
