# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  module Io
    class Resolver
      # Addresses that were found not long ago; the oldest make room.
      class Cache
        # @param seconds [Numeric] for which an entry is used
        # @param size [Integer] entries at most
        def initialize(seconds, size)
          @seconds = seconds
          @size = size
          @entries = {}
          @lock = Mutex.new
        end

        # @return [Array<Addrinfo>] the block's value, or an earlier one
        def fetch(key)
          found = @lock.synchronize { @entries[key] }
          return found.first if found && !found.last.expired?

          yield.tap { |addresses| @lock.synchronize { store(key, addresses.freeze) } }
        end

        private

        def store(key, addresses)
          @entries.delete(key)
          @entries[key] = [addresses, Deadline.after(@seconds)]
          @entries.shift if @entries.size > @size
        end
      end
    end
  end
end
