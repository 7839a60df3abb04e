# frozen_string_literal: true

module Bench
  module Databases
    # An ideal pool: who asks first is served first, in no time. What it would have made of the same askers, who hold what
    # they get for as long as they have held it, tells a pool's part of a wait from that of the machine: a processor that is
    # busy elsewhere lengthens both.
    class FairQueue
      # @param connections [Integer]
      def initialize(connections)
        @connections = connections
      end

      # @param turns [Array<Array(Float, Float, Float)>] when each asked, got and gave back
      # @return [Array<Float>] how long each would have waited, in the order of asking
      def waits(turns)
        free = Array.new(@connections, -Float::INFINITY)
        turns.sort.map do |asked, got, done|
          start = [asked, free.shift].max
          free.insert(free.bsearch_index { |time| time > start + done - got } || -1, start + done - got)
          start - asked
        end
      end
    end
  end
end
