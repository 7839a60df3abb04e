# frozen_string_literal: true

require_relative "../scope"
require_relative "../state"

module Plait
  class Scope
    # Runs each task at once, in the caller, before `async` returns.
    class Inline < Scope
      private

      def start(task)
        Mechanisms::State.apart { perform(task) }
        abort_if_failed if @failure
      end

      # It was meant for the caller, in whose stead the task ran.
      def interrupted(_task, interruption) = raise(interruption)

      def interrupt(_task) = nil

      def interrupt_owner = nil

      def guard_owner = yield
    end
  end
end
