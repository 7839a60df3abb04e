# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # An item that was submitted and has not been answered for.
      class Job
        # @return [Integer]
        attr_reader :index
        # @return [Object]
        attr_reader :item
        # @return [Array] for the block
        attr_reader :arguments
        # @return [Integer] attempts that ended with the death of their ractor
        attr_accessor :made
        # @return [Integer] of the {Tickets} of the ractor that it waits at
        attr_accessor :ticket

        def initialize(index, item, arguments)
          @index = index
          @item = item
          @arguments = arguments
          @made = 0
        end
      end
    end
  end
end
