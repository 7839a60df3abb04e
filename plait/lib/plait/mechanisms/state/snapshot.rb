# frozen_string_literal: true

require_relative "copy"
require_relative "own"

module Plait
  module Mechanisms
    module State
      # The state of the current fiber and its thread, before an item that runs in the fiber of its caller. The item has the
      # caller's, so that a transaction of the caller includes it.
      class Snapshot
        NEVER = { Object => :never }.freeze
        private_constant :NEVER

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

        # Gives the item copies of what it could change in place.
        # @return [void]
        def lend
          @own&.execution_state = Copy.of(@execution_state)
          copies(@locals) { |name, value| @thread[name] = value }
          copies(@variables) { |name, value| @thread.thread_variable_set(name, value) }
          copies(@of_thread) { |name, value| assign(@thread, name, value) }
          copies(@of_fiber) { |name, value| assign(@fiber, name, value) }
          copies(@storage) { |name, value| Fiber[name] = value } if STORAGE
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

        # @yieldparam name [Symbol] of what has a copy
        # @yieldparam value [Object, nil] the copy
        def copies(before)
          before.each do |name, value|
            copy = Copy.of(value)
            yield name, copy unless copy.equal?(value)
          end
        end

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
