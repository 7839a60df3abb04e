# frozen_string_literal: true

require "digest/sha2"

module Bench
  module Core
    # Bodies that take about a millisecond: the smallest that a mechanism promises not to burden.
    module Bodies
      WAITING = lambda do |item|
        sleep(0.001)
        item
      end

      DATA = ("plait" * 74_000).freeze

      # An amount of work, not a time, so that all do the same; by a function in C that keeps the GVL. The same loop of VM
      # instructions takes 0.94 or 1.6 ms in one and the same process without Plait, for seconds at a time, as the
      # processor predicts its branches well or badly; this one always takes the same.
      COMPUTING = ->(item) { item + Digest::SHA256.digest(DATA).getbyte(0) }

      # @param kind [Symbol] :waiting or :computing
      # @return [Proc] item -> Integer
      def self.fetch(kind) = { waiting: WAITING, computing: COMPUTING }.fetch(kind)
    end
  end
end
