# frozen_string_literal: true

require "plait/values/errors"
require_relative "../delayed"
require_relative "../streaming"
require_relative "buffer"

module Plait
  module RPC
    module Streaming
      # An argument: the peer sends it, and is answered when there is room for more; the method reads.
      class Inflow < Buffer
        # For the peer.
        # @param chunks [Array]
        # @param last [Boolean]
        # @return [Boolean, Delayed] whether more is wanted
        # @raise [UsageError]
        def push(chunks, last)
          @lock.exclusively do
            next false if @closed
            raise UsageError, "chunks come in an Array" unless chunks.is_a?(Array)
            raise UsageError, "there is no room for more chunks yet: wait for the answer to those before" if @owed

            add(chunks)
            @finished = last
            wake
            last || !full? || @owed = Delayed.new
          end
        end

        # There will be no more.
        # @param error [Exception, nil] that the method gets; nil: it has read enough
        # @return [void]
        def close(error = nil)
          owed = @lock.exclusively do
            @closed = true
            @error ||= error
            clear
            wake
            take_owed
          end
          owed&.result(false)
        end

        # What has come before is read first.
        # @param error [Exception]
        # @return [void]
        def abort(error)
          @lock.exclusively do
            @error = error
            @finished = true
            wake
          end
        end

        # @yieldparam chunk [Object]
        # @return [void]
        def each
          while (found = read)
            yield found.first
          end
        ensure
          close
        end

        private

        # @return [Array, nil] with a chunk; nil: there is none any more
        def read
          found = attempt { next_chunk }
          @lock.exclusively { take_owed if @weight < WINDOW / 2 }&.result(true)
          return found if found

          raise @error if @error
        end

        # Under the lock.
        # @return [Array, false, nil] nil: it has not come yet
        def next_chunk
          return (@finished || @closed ? false : nil) if @chunks.empty?

          @chunks.shift(1).tap { |chunk| @weight -= Streaming.weight(chunk.first) }
        end

        def take_owed = @owed.tap { @owed = nil }
      end
    end
  end
end
