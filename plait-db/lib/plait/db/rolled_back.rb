# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module DB
    # A transaction that no longer exists was used, or was to be committed. Nothing of it was done, unless a statement in it
    # has ended it: what came before that is done.
    class RolledBack < Error
      REASONS = {
        forked: "it is the parent's, and this process is a fork",
        closed: "its connection was closed in the middle of a call",
        failed: "one of its statements had failed"
      }.freeze
      ENDED = "this transaction is over: one of its statements has ended it, and what came before that is done"
      private_constant :REASONS, :ENDED

      # @param reason [StandardError, Symbol] the driver's error, or one of these words
      # @return [RolledBack]
      def self.because(reason)
        return new(ENDED) if reason == :ended

        why = REASONS.fetch(reason) { "the server said: #{reason.message}" }
        new("this transaction was rolled back, since #{why}. Let the error end its block, and run the whole block again")
      end
    end
  end
end
