# frozen_string_literal: true

module Bench
  module Core
    # Bodies that take about a millisecond: the smallest that a mechanism promises not to burden.
    module Bodies
      WAITING = lambda do |item|
        sleep(0.001)
        item
      end

      # A number of steps, not a time, so that all do the same work.
      COMPUTING = lambda do |item|
        steps = 0
        steps += 1 until steps == 160_000
        item + steps
      end

      # @param kind [Symbol] :waiting or :computing
      # @return [Proc] item -> Integer
      def self.fetch(kind) = { waiting: WAITING, computing: COMPUTING }.fetch(kind)
    end
  end
end
