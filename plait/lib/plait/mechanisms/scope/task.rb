# frozen_string_literal: true

require_relative "../../values/errors"

module Plait
  class Scope
    # One block of a scope, running, waiting for its turn, or over.
    class Task
      # @api private
      attr_reader :block, :arguments
      # @return [Exception, nil] what the block raised; a {CancelledError} if it was cancelled
      attr_reader :error
      # What runs it: a thread or a fiber, while it does.
      # @api private
      attr_accessor :runner

      # Begun so far, where there are several.
      # @api private
      attr_accessor :attempts

      # @api private
      def initialize(scope, block, arguments)
        @scope = scope
        @block = block
        @arguments = arguments
        @done = false
        @attempts = 0
      end

      # Waits for the end.
      # @return [Object] what the block returned
      # @raise [Exception] what the block raised
      # @raise [CancelledError]
      def value
        wait unless @done
        raise @error if @error

        @value
      end

      # Waits for the end, whatever it is.
      # @return [self]
      def wait
        @scope.wait_for(self) unless @done
        self
      end

      # @return [Boolean]
      def done? = @done

      # @return [Boolean] whether it ended with a value
      def ok? = @done && @error.nil?

      # Ends the block where it waits; its `ensure` parts run. Does not wait for that.
      # @return [void]
      def cancel = @scope.cancel_task(self)

      # Its thread may not have begun yet: then it must not.
      # @api private
      def withdraw = @withdrawn = true

      # @api private
      def withdrawn? = @withdrawn

      # For a scope that puts its tasks into a queue of jobs.
      # @api private
      def run = @scope.run(self)

      # @api private
      def complete(value, error)
        @value = value
        @error = error
        @done = true
      end
    end
  end
end
