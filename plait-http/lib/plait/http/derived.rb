# frozen_string_literal: true

require "plait/values/uninterruptible"
require_relative "client"

module Plait
  module HTTP
    # The clients behind calls such as `Plait::HTTP.get(url, proxy: …)`: one for each set of a client's options, kept with its
    # connections for the next call with the same ones.
    class Derived
      # Unused clients that are kept; raising it keeps more unused connections.
      KEPT = 16
      Entry = Struct.new(:client, :calls)
      private_constant :KEPT, :Entry

      def initialize
        @lock = Mutex.new
        @entries = {} # options => Entry, the least recently used first
      end

      # @param options [Hash] of a client
      # @yieldparam client [Client]
      # @return [Object] the block's value
      # @raise [UsageError]
      def with(options, &block)
        return Client.open(**options, &block) if options.key?(:cookies) # the next caller must not get them

        begin
          entry = nil
          Uninterruptible.run { entry = take(options) }
          yield entry.client
        ensure
          Uninterruptible.run { give_back(entry) } if entry
        end
      end

      private

      def take(options)
        @lock.synchronize do
          key = options.transform_values { |value| value.is_a?(Hash) ? value.dup.freeze : value }.freeze
          entry = @entries.delete(key) || Entry.new(Client.new(**key), 0)
          entry.calls += 1
          @entries[key] = entry
        end
      end

      def give_back(entry)
        surplus = @lock.synchronize do
          entry.calls -= 1
          key, = @entries.find { |_, other| other.calls.zero? } if @entries.size > KEPT
          @entries.delete(key) if key
        end
        surplus&.client&.close
      end
    end
    private_constant :Derived
  end
end
