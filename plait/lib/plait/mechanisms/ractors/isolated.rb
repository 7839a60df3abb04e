# frozen_string_literal: true

require_relative "body"
require_relative "pool"
require_relative "../mechanism"
require_relative "../options"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # Runs one block in a ractor of its own: what a task of a scope does under :ractors.
      class Isolated
        # Waits. Whatever interrupts the wait ends the ractor, too.
        # @param block [Proc]
        # @param arguments [Array] of the block; copied
        # @return [Object] what the block returns, copied
        # @raise [Exception] what the block raised
        # @raise [UnshareableError] if the block can't be isolated, an argument or the result can't be copied
        def call(block, arguments)
          pool = Pool.new(Body.of(block), Options.new, 1)
          pool.submit(0, arguments, arguments)
          pool.take.value!
        ensure
          pool&.close
        end
      end
    end
  end
end
