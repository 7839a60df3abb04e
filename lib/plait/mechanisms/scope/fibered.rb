# frozen_string_literal: true

require_relative "../fibers/foreign"
require_relative "../interruption"
require_relative "../scope"

module Plait
  class Scope
    # A fiber for each task, on the loop that the caller lives on.
    class Fibered < Scope
      # What the loop runs.
      Job = Struct.new(:scope, :task) do
        def run = scope.run(task)
      end

      def initialize(options)
        super
        @loop = Mechanisms::Fibers::Foreign.adapt(Fiber.current_scheduler)
        @owner = Fiber.current
      end

      # @api private
      def run(task)
        return if task.done?

        task.runner = Fiber.current
        perform(task)
      ensure
        task.runner = nil
        @loop.finished
      end

      private

      def start(task) = @loop.spawn(Job.new(self, task))

      def interrupt(task)
        fiber = task.runner
        return finish(task, nil, CancelledError.new) unless fiber

        @loop.interrupt(fiber, Mechanisms::Interruption.new) { task.runner }
      end

      def interrupt_owner
        return if Fiber.current.equal?(@owner)

        @loop.interrupt(@owner, Mechanisms::Interruption.new) { @in_body }
      end

      def guard_owner
        @in_body = true
        yield
      ensure
        @in_body = false
      end
    end
  end
end
