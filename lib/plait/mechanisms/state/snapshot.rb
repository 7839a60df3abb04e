# frozen_string_literal: true

require_relative "own"

module Plait
  module Mechanisms
    module State
      # The state of the current fiber and its thread, before an item that runs in the fiber of its caller.
      class Snapshot
        # ActiveSupport's own, on threads and fibers.
        EXECUTION_STATE = :@active_support_execution_state
        NEVER = { Object => :never }.freeze
        private_constant :EXECUTION_STATE, :NEVER

        def initialize
          @thread = Thread.current
          @fiber = Fiber.current
          @own = Own.current
          @execution_state = @own&.execution_state
          @locals = locals
          @variables = variables
          @of_thread = attributes(@thread)
          @of_fiber = attributes(@fiber)
          @storage = storage if STORAGE
        end

        # The item begins without the caller's CurrentAttributes.
        # @return [void]
        def forget_execution_state
          @own&.execution_state = nil
          assign(@thread, EXECUTION_STATE, nil) if @of_thread.key?(EXECUTION_STATE)
          assign(@fiber, EXECUTION_STATE, nil) if @of_fiber.key?(EXECUTION_STATE)
        end

        # An interrupt in the middle would lose a part of it.
        # @return [void]
        def restore
          Thread.handle_interrupt(NEVER) do
            @own&.execution_state = @execution_state
            undo(@locals, locals) { |name, value| @thread[name] = value }
            undo(@variables, variables) { |name, value| @thread.thread_variable_set(name, value) }
            undo(@of_thread, attributes(@thread)) { |name, value| assign(@thread, name, value) }
            undo(@of_fiber, attributes(@fiber)) { |name, value| assign(@fiber, name, value) }
            undo(@storage, storage) { |name, value| Fiber[name] = value } if STORAGE
          end
        end

        private

        def locals = @thread.keys.to_h { |name| [name, @thread[name]] }

        def variables = @thread.thread_variables.to_h { |name| [name, @thread.thread_variable_get(name)] }

        def attributes(object) = State.others(object).to_h { |name| [name, object.instance_variable_get(name)] }

        def storage = State.storage || {}

        # @yieldparam name [Symbol] of what has changed
        # @yieldparam value [Object, nil] nil: there was none
        def undo(before, now)
          return if before.empty? && now.empty?

          (before.keys | now.keys).each { |name| yield name, before[name] unless before[name].equal?(now[name]) }
        end

        def assign(object, name, value)
          value.nil? ? object.remove_instance_variable(name) : object.instance_variable_set(name, value)
        end
      end
    end
  end
end
