# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  module Io
    class Pool
      # @api private
      # One request for a connection, from its start to its end. It exists before the pool's state knows it, so that an
      # interrupted thread can take it back at any point.
      class Checkout
        # @return [Object]
        attr_reader :key
        # @return [Integer, nil] its place in the queue
        attr_accessor :number
        # @return [Entry, nil]
        attr_reader :entry

        def initialize(key)
          @key = key
          @state = :open
        end

        # @return [Boolean] whether the wait is over
        def granted? = @state != :open && @state != :queued

        # @return [Boolean] whether it has a place, and no connection yet
        def place? = @state == :place

        # @return [Boolean]
        def queued? = @state == :queued

        # @return [Boolean] whether the pool was closed
        def refused? = @state == :refused

        # @return [Object, nil]
        def connection = @entry&.connection

        # @return [Float] seconds for which its connection had been idle
        def idle_for = Deadline.now - @entry.idle_since

        # Of the pool's lock, which is held.
        # @param seconds [Numeric, nil]
        def wait(lock, seconds) = @changed.wait(lock, seconds)

        # @!group Changes of its state; the pool's lock is held

        def queue
          @changed = ConditionVariable.new
          @state = :queued
        end

        def grant(entry)
          @entry = entry
          become(:connected)
        end

        def grant_place
          @entry = nil
          become(:place)
        end

        def refuse = become(:refused)

        def withdraw
          @entry = nil
          @state = :over
        end

        private

        def become(state)
          @state = state
          @changed&.signal
        end
      end

      # Waiting checkouts: a queue for each key. A key is ripe when it may have one more connection and only the pool as a
      # whole has no room; ripe keys take turns.
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
        def push(checkout, ripe: false)
          checkout.number = (@number += 1)
          checkout.queue
          (@queues[checkout.key] ||= {}.compare_by_identity)[checkout] = true
          @size += 1
          ripen(checkout.key) if ripe
        end

        # The key may have one more connection.
        def ripen(key)
          @ripe[key] = true if @queues.key?(key)
        end

        # @return [Checkout, nil] the one that has waited longest for this key
        def shift(key) = first(key)&.tap { |checkout| delete(checkout) }

        # @return [Checkout, nil] the one that has waited longest for the ripe key whose turn it is
        def shift_ripe
          key, = @ripe.shift
          key && shift(key)
        end

        # @return [Boolean] whether a checkout that waits for room in the pool came before all that wait for this key
        def another_first?(key)
          return false if @ripe.empty?

          own = first(key)
          own.nil? || first(@ripe.first.first).number < own.number
        end

        def delete(checkout)
          queue = @queues[checkout.key]
          return unless queue&.delete(checkout)

          @size -= 1
          return unless queue.empty?

          @queues.delete(checkout.key)
          @ripe.delete(checkout.key)
        end

        # @return [Array<Checkout>] all of them
        def drain
          @queues.values.flat_map(&:keys).tap { initialize }
        end

        private

        def first(key) = @queues[key]&.first&.first
      end
      private_constant :Queues
    end
  end
end
