# frozen_string_literal: true

module Plait
  module Io
    class Pool
      # One request for a connection, from its start to its end. It exists before the pool's state knows it, so that an
      # interrupted thread can take it back at any point.
      class Checkout
        attr_reader :key, :entry
        # @return [Integer, nil] its turn among all waiting checkouts of the pool
        attr_accessor :number

        def initialize(key)
          @key = key
          @state = :open
        end

        # @return [Boolean] whether the wait is over
        def granted? = @state != :open && @state != :queued

        # @return [Boolean] whether it has a place, and no connection yet
        def place? = @state == :place

        def queued? = @state == :queued

        # @return [Boolean] whether the pool was closed
        def refused? = @state == :refused

        def connection = @entry&.connection

        # @return [Float] seconds for which its connection had been idle
        def idle_for = Deadline.now - @entry.idle_since

        # Of the pool's lock, which is held.
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

      # The state of one key: its idle connections, its places and its waiting checkouts. Each connection, idle or busy or
      # about to be made, holds a place. The pool's lock is held around each call.
      class KeyState
        # @return [Object] the key
        attr_reader :name
        # @return [Array<Entry>] the one used last at the end
        attr_reader :idle
        # @return [Hash{Checkout => true}] the longest waiting first; each leaves from anywhere at once
        attr_reader :waiting
        # @return [Integer] connections that exist or are being made
        attr_reader :places
        # @return [Integer] places at most
        attr_writer :size

        # @param size [Integer] places at most
        def initialize(size, name = nil)
          @size = size
          @name = name
          @idle = []
          @waiting = {}.compare_by_identity
          @places = 0
        end

        def room? = @places < @size

        def unused? = @places.zero? && @waiting.empty?

        def queue(checkout)
          checkout.queue
          @waiting[checkout] = true
        end

        # @return [Checkout, nil] the one that waits longest
        def first_waiting = @waiting.first&.first

        def give_place(checkout)
          @places += 1
          checkout.grant_place
        end

        # @param count [Integer] places that are free from now on
        def leave_places(count = 1) = @places -= count

        # No checkout waits any longer.
        def refuse_all
          @waiting.each_key(&:refuse)
          @waiting.clear
        end
      end
    end
  end
end
