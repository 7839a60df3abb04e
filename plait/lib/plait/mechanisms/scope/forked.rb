# frozen_string_literal: true

require_relative "../../values/errors"
require_relative "../state"
require_relative "body"
require_relative "threaded"

module Plait
  class Scope
    # A process for each task, forked by its thread. A task may start further ones: its process has a copy of the scope, is
    # its owner there, and does not end before they have.
    class Forked < Threaded
      LEFT_BEHIND = "this task runs beside the process of the one that asks, which can neither wait for it nor cancel it; " \
                    "give it the value: scope.async(other.value) { |value| ... }"
      private_constant :LEFT_BEHIND

      # @api private
      def wait_for(task)
        raise UsageError, LEFT_BEHIND if left_behind?(task)

        super
      end

      # @api private
      def cancel_task(task)
        raise UsageError, LEFT_BEHIND if left_behind?(task)

        super
      end

      private

      def isolated(block, arguments)
        body = lambda do |*copies|
          Mechanisms::State.inherit(@storage) # the child's thread has none of the gem fiber-storage
          reopen.supervise { block.call(*copies) }
        end
        @isolate.call(body, arguments) { postpone }
      end

      # In the child.
      def reopen
        @left_behind = [*@running.keys, *@backlog]
        clear
        @owner = Thread.current
        @body = Body.here
        self
      end

      def left_behind?(task) = @left_behind&.any? { |other| other.equal?(task) }
    end
  end
end
