# frozen_string_literal: true

module Plait
  module Io
    class Pool
      # Who waits: a queue for each key. A key is ripe when it may have one more connection and only the pool as a whole
      # has no room; ripe keys take turns.
      class Queues
        def initialize
          @queues = {}
          @ripe = {}
          @number = 0
          @size = 0
        end

        # @return [Integer]
        attr_reader :size

        # @param ripe [Boolean] whether the key may have one more connection
        def push(claim, ripe: false)
          claim.number = (@number += 1)
          claim.queue
          (@queues[claim.key] ||= {}.compare_by_identity)[claim] = true
          @size += 1
          ripen(claim.key) if ripe
        end

        # The key may have one more connection.
        def ripen(key)
          @ripe[key] = true if @queues.key?(key)
        end

        # @return [Claim, nil] who has waited longest for this key
        def shift(key) = first(key)&.tap { |claim| delete(claim) }

        # @return [Claim, nil] who has waited longest for the ripe key whose turn it is
        def shift_ripe
          key, = @ripe.shift
          key && shift(key)
        end

        # @return [Boolean] whether somebody who waits for room in the pool came before all who wait for this key
        def another_first?(key)
          return false if @ripe.empty?

          own = first(key)
          own.nil? || first(@ripe.first.first).number < own.number
        end

        def delete(claim)
          queue = @queues[claim.key]
          return unless queue&.delete(claim)

          @size -= 1
          return unless queue.empty?

          @queues.delete(claim.key)
          @ripe.delete(claim.key)
        end

        # @return [Array<Claim>] all of them
        def drain
          @queues.values.flat_map(&:keys).tap { initialize }
        end

        private

        def first(key) = @queues[key]&.first&.first
      end
    end
  end
end
