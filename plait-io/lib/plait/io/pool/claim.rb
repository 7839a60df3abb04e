# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  module Io
    class Pool
      # What somebody asks of the pool, from the first word to the end. It exists before the books know of it, so that
      # whoever is interrupted at any point can take back whatever has become of it.
      class Claim
        # @return [Object]
        attr_reader :key
        # @return [Integer, nil] the place in the order of those who wait
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

        # @!group What becomes of it; the pool's lock is held

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
    end
  end
end
