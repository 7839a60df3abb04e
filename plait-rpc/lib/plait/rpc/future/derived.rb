# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    class Future
      # What a block makes of an answer, see {Future#then}.
      class Derived
        # @param source [Future, Derived]
        # @param block [Proc]
        # @api private
        def initialize(source, block)
          @source = source
          @block = block
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @followers = []
        end

        # @param timeout [Numeric, nil] seconds for this wait
        # @return [Object] what the block returned
        # @raise [Exception] that of the block, or of the answer
        # @raise [TimeoutError] it is not there yet
        def value(timeout = nil)
          raise TimeoutError, "nothing after #{timeout} s; it may still come" unless join(timeout)
          raise @error if @error

          @value
        end
        alias get value

        # @param timeout [Numeric, nil] seconds
        # @return [self, nil] nil: it is not there yet
        def join(timeout = nil)
          limit = timeout && (Deadline.now + timeout)
          @lock.synchronize do
            until @done
              return if limit && Deadline.now >= limit

              @changed.wait(@lock, limit && [limit - Deadline.now, 0].max)
            end
          end
          self
        end

        # Waits.
        # @return [Exception, nil]
        def error
          join
          @error
        end

        # @return [Boolean]
        def ready? = @done || false

        # @return [Boolean] whether the answer was still to come
        def cancel = @source.cancel

        # @return [Derived]
        # @yieldparam value [Object]
        def then(&block)
          raise UsageError, "then needs a block" unless block

          Derived.new(self, block).tap { |derived| follow { derived.run } }
        end

        # @api private
        def run
          @error = CancelledError.new("the block was ended before it had a result") # by Thread.exit, say
          @value = @block.call(@source.value)
          @error = nil
        rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is, it is for those who wait
          @error = e
        ensure
          finish
        end

        private

        def follow(&block)
          later = @lock.synchronize { @done ? false : @followers << block }
          block.call unless later
        end

        def finish
          followers = @lock.synchronize do
            @done = true
            @changed.broadcast
            @followers
          end
          followers.each(&:call)
        end
      end
    end
  end
end
