# frozen_string_literal: true

require_relative "version"

module Plait
  module RPC
    module Compat
      # Several futures, to be waited for together.
      class MultiFuture
        # @return [Array<Future>]
        attr_reader :all, :not_joined, :joined, :error, :success

        def initialize = clear

        # Forgets all futures and callbacks.
        def clear
          @all = []
          @not_joined = []
          @joined = []
          @error = []
          @success = []
          clear_callback
        end

        # @return [self]
        def clear_callback
          @on_all = @on_success = @on_error = nil
          @on_num = {}
          self
        end

        # @param future [Future]
        # @return [self]
        def add(future)
          @all << future
          @not_joined << future
          future.attach_callback { |one| joins(one) }
          self
        end

        # @yieldparam futures [Array<Future>] all of them, when all are there
        # @return [self]
        def on_all(&block) = tap { @on_all = block }

        # @yieldparam future [Future] with a result
        # @return [self]
        def on_success(&block) = tap { @on_success = block }

        # @yieldparam future [Future] with an error
        # @return [self]
        def on_error(&block) = tap { @on_error = block }

        # @param count [Integer]
        # @yieldparam futures [Array<Future>] those that are there, when there are so many
        # @return [self]
        def on_num(count, &block) = tap { @on_num[count.to_i] = block }

        # Waits for all of them.
        # @return [Array<Future>]
        def join_all
          @not_joined.dup.each(&:join)
          @all
        end

        # Waits for one with a result.
        # @return [Future, nil] nil: all have failed
        def join_success
          turn_until { @success.any? }
          @success.last
        end

        # Waits for one with an error.
        # @return [Future, nil] nil: none has failed
        def join_error
          turn_until { @error.any? }
          @error.last
        end

        # Waits for so many.
        # @return [Array<Future>, nil] those that are there; nil: there won't be so many
        def join_num(count)
          turn_until { @joined.size >= count }
          @joined if @joined.size >= count
        end

        private

        def turn_until
          @not_joined.first.loop.run_once until @not_joined.empty? || yield
        end

        def joins(future)
          return unless @not_joined.delete(future)

          @joined << future
          future.error.nil? ? note(@success, @on_success, future) : note(@error, @on_error, future)
          quietly { @on_num[@joined.size]&.call(@joined) }
          quietly { @on_all&.call(@all) if @not_joined.empty? }
        end

        def note(list, callback, future)
          list << future
          quietly { callback&.call(future) }
        end

        # As in msgpack-rpc, what a callback raises is its own business.
        def quietly
          yield
        rescue StandardError
          nil
        end
      end
    end
  end
end
