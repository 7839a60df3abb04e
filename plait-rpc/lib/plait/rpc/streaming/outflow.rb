# frozen_string_literal: true

require "plait/values/errors"
require_relative "../delayed"
require_relative "buffer"

module Plait
  module RPC
    module Streaming
      # The result of a method: it writes, and the peer asks for what there is.
      class Outflow < Buffer
        # @param aside [#call] see {Buffer#initialize}
        # @yield when all is fetched
        def initialize(aside, &drained)
          super(aside)
          @drained = drained
        end

        # Waits while there is enough that the peer has not asked for.
        # @param chunk [Object]
        # @return [Boolean] false: nobody wants any more
        def write(chunk)
          wanted = attempt do
            next false if @closed
            next if full?

            add([chunk])
            true
          end
          hand_over if wanted
          wanted
        end

        # There is no more.
        # @param error [Exception, nil] why
        # @return [void]
        def finish(error = nil)
          @lock.exclusively do
            @error = error
            @finished = true
          end
          hand_over
        end

        # For the peer.
        # @return [Array(Array, Boolean), Delayed] chunks, and whether these are the last
        # @raise [Exception] why there are no more
        # @raise [UsageError]
        def take
          batch = @lock.exclusively do
            raise UsageError, "the chunks that were asked for before are not there yet" if @asked

            ready? ? next_batch : @asked = Delayed.new
          end
          tell_drained
          batch.is_a?(Exception) ? raise(batch) : batch
        end

        # Nobody wants any more.
        # @return [void]
        def close
          @lock.exclusively do
            @closed = @finished = true
            clear
            wake
          end
          hand_over
        end

        private

        def hand_over
          asked, batch = @lock.exclusively { [@asked, next_batch].tap { @asked = nil } if @asked && ready? }
          return unless asked

          batch.is_a?(Exception) ? asked.error(batch) : asked.result(batch)
          tell_drained
        end

        def tell_drained = @over && @drained.call

        # These are under the lock.

        def ready? = @chunks.any? || @finished

        # @return [Array(Array, Boolean), Exception]
        def next_batch
          chunks = @chunks
          clear
          wake
          @over = @finished == true && (chunks.empty? || @error.nil?)
          chunks.empty? && @error ? @error : [chunks, @over]
        end
      end
    end
  end
end
