# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  module Io
    class PureReactor
      # Who waits, for what, and since when. One thread at a time uses it.
      class Register
        Entry = Struct.new(:io, :token, :interest, :queue, :since, :state)
        private_constant :Entry

        # @param queues [Integer]
        def initialize(queues)
          @entries = {}.compare_by_identity
          @queues = Array.new(queues) { {}.compare_by_identity }
          @ready = []
        end

        # @return [Integer]
        def size = @entries.size

        # @param io [IO] of which nothing else is known from now on
        # @return [void]
        def add(io, token, interest, queue)
          remove(io)
          arm(Entry.new(io, token), interest, queue)
        end

        # @param keep [Boolean] the place in that queue
        # @return [Boolean] whether it is there
        def rearm(io, interest, queue, keep)
          entry = @entries[io] or return false

          arm(entry, interest, queue, keep: keep && entry.queue == queue)
          true
        end

        # @return [Boolean] whether it was there
        def remove(io)
          entry = @entries.delete(io) or return false

          entry.state = :absent
          @queues[entry.queue].delete(entry)
          true
        end

        # @return [Array(Array<IO>, Array<IO>)] those that shall be readable, and writable; who waits longest is first
        def awaited
          @entries.each_key.select(&:closed?).each { |io| remove(io) }
          armed = @entries.each_value.select { |entry| entry.state == :armed }
          [READABLE, WRITABLE].map { |bit| armed.select { |entry| entry.interest.anybits?(bit) }.map(&:io) }
        end

        # @param ios [Array<IO>] those that are ready
        # @return [void]
        def note(ios)
          ios.filter_map { |io| @entries[io] }.each do |entry|
            next unless entry.state == :armed

            entry.state = :ready
            @ready << entry
          end
        end

        # @param count [Integer] at most
        # @return [Array] tokens of the ready ones, which are now told
        def take(count)
          entries = []
          while entries.size < count && (entry = @ready.shift)
            entries << entry if entry.state == :ready # else it was removed or armed again meanwhile
          end
          tell(entries)
        end

        # @return [Array] tokens
        def expire(queue, before)
          old = @queues[queue].each_key.take_while { |entry| entry.since < before }
          tell(old.select { |entry| entry.state == :armed })
        end

        # @return [Float, nil]
        def oldest(queue) = @queues[queue].each_key.find { |entry| entry.state == :armed }&.since

        private

        # Behind all others: they have been waiting for longer.
        def arm(entry, interest, queue, keep: false)
          @entries.delete(entry.io)
          @entries[entry.io] = entry
          entry.interest = interest
          entry.state = :armed
          enqueue(entry, queue) unless keep
        end

        def enqueue(entry, queue)
          @queues[entry.queue].delete(entry) if entry.queue
          entry.queue = queue
          entry.since = Deadline.now
          @queues[queue][entry] = true
        end

        def tell(entries)
          entries.each { |entry| entry.state = :told }.map(&:token)
        end
      end
    end
  end
end
