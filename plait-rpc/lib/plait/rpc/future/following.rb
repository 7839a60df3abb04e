# frozen_string_literal: true

require_relative "derived"
require "plait/values/errors"

module Plait
  module RPC
    class Future
      # What is done when an answer has come, though nobody waits for it: by a thread that the connection then has, one after
      # another.
      module Following
        # @yieldparam value [Object]
        # @return [Derived] the future of what the block returns. Where there is no value the block isn't called: its error is
        #   this one's.
        def then(&block)
          raise UsageError, "then needs a block" unless block

          Derived.new(self, block).tap { |derived| follow { derived.run } }
        end

        # @yieldparam future [Future] itself, when it is settled, whatever it is. An error of the block is nobody's: it is
        #   reported as that of a thread is, and the next block goes on.
        # @return [self]
        def follow(&block)
          @connection.follow(self) { block.call(self) }
          self
        end
      end
    end
  end
end
