# frozen_string_literal: true

require_relative "fibers"
require_relative "hybrid/sense"

module Plait
  module Mechanisms
    # Fibers, and a thread pool for what would block their loop: what is wrapped in {Plait.offload}; on Ruby 3.4 and later
    # what Ruby itself offers (Zlib, say); and whole items, once items of the run have been seen to block.
    class Hybrid < Fibers
      def executor(attempt, limit:)
        super(Sense.new(attempt), limit: limit)
      end

      private

      def loop_options = { offload: true }
    end
  end
end
