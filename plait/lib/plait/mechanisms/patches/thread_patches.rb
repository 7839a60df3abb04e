# frozen_string_literal: true

module Plait
  module Patches
    # Of Thread, and of Fiber for what its fibers share.
    module ThreadPatches
      def self.install = SharedThread.install

      # Fibers of one thread share its thread variables, where I18n (before Ruby 3.2), Mongoid and Typhoeus keep the state of a
      # request. In a fiber that runs an item, the variables of the current thread are the item's, see {State::Own}.
      module SharedThread
        State = Mechanisms::State
        Own = State::Own
        private_constant :State, :Own

        # Of the current thread; the variables of other threads are Ruby's.
        module Variables
          def thread_variable_get(name) = (own = Own.of(self)) ? own.variables[Own.key(name)] : super

          def thread_variable_set(name, value) = (own = Own.of(self)) ? own.variables.store(Own.key(name), value) : super

          def thread_variable?(name) = (own = Own.of(self)) ? !own.variables[Own.key(name)].nil? : super

          def thread_variables = (own = Own.of(self)) ? own.variables.keys : super

          Gate.before(self, *instance_methods(false), only: :items) unless State::STORAGE
        end

        # Fibers that an item starts have the item's variables: by fiber storage, or on Ruby 3.1 by this.
        module Inheritance
          def initialize(...)
            super
            own = Own.current or return
            own.share
            @plait_own = own unless State::STORAGE
          end

          Gate.before(self, :initialize, only: :items) unless State::STORAGE
        end

        # ActiveSupport's state of the thread, where its isolation level is :thread.
        module ExecutionState
          def [](name) = (own = plait_own) ? own.execution_state&.[](name) : super

          def []=(name, value)
            (own = plait_own) ? (own.execution_state ||= {})[name] = value : super
          end

          def key?(name) = (own = plait_own) ? own.execution_state&.key?(name) || false : super

          def delete(name) = (own = plait_own) ? own.execution_state&.delete(name) : super

          def clear = (own = plait_own) ? own.execution_state = nil : super

          # By thread, items of one thread would share a connection, and one of them would give it back to the pool.
          def context = plait_own&.unit || super

          private

          def plait_own = isolation_level == :thread ? Own.current : nil
        end

        class << self
          def install
            Thread.prepend(Variables)
            Fiber.prepend(Inheritance)
          end

          # ActiveSupport may be loaded after the first scheduler.
          def install_late
            return unless defined?(::ActiveSupport::IsolatedExecutionState)

            state = ::ActiveSupport::IsolatedExecutionState.singleton_class
            state.prepend(ExecutionState) unless state.include?(ExecutionState)
          end
        end
      end
    end
  end
end
