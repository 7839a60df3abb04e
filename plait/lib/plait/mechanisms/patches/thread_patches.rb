# frozen_string_literal: true

require_relative "../../values/errors"
require_relative "../state"
require_relative "../time_limit"

module Plait
  module Patches
    # Of Thread, Thread::Mutex and Thread::ConditionVariable.
    module ThreadPatches
      def self.install = [Join, ConditionWait, MutexSleep, Priority, SharedThread].each(&:install)

      # Fibers of one thread share its thread variables, where I18n (before Ruby 3.2), Mongoid and Typhoeus keep the state of a
      # request. In a fiber that runs an item, the variables of the current thread are the item's, see {State::Own}.
      module SharedThread
        State = Mechanisms::State
        Own = State::Own
        private_constant :State, :Own

        # Of the current thread; the variables of other threads are Ruby's.
        module Variables
          def thread_variable_get(name)
            (own = Own.of(self)) ? own.variables[Own.key(name)] : super
          end

          def thread_variable_set(name, value)
            (own = Own.of(self)) ? own.variables.store(Own.key(name), value) : super
          end

          def thread_variable?(name)
            (own = Own.of(self)) ? !own.variables[Own.key(name)].nil? : super
          end

          def thread_variables = (own = Own.of(self)) ? own.variables.keys : super
        end

        # Fibers that an item starts have the item's variables: by fiber storage, or on Ruby 3.1 by this.
        module Inheritance
          def initialize(...)
            super
            own = Own.current or return
            own.share
            @plait_own = own unless State::STORAGE
          end
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

      # Ruby 3.1: join with a timeout never comes back in a fiber (bug 19709). Without one it does.
      module Join
        def self.install = Thread.prepend(self)

        # (In a Thread, `raise` would be Thread#raise.)
        def self.check(limit)
          return if limit.is_a?(Numeric) && limit.real?

          raise TypeError, "no implicit conversion of #{limit.class} into Float"
        end

        def join(limit = nil)
          return super unless limit && Patches.scheduler && alive?

          Join.check(limit)
          TimeLimit.enforce(limit, TimedOut) { super() }
        rescue TimedOut
          nil
        end
      end

      # How {Join} tells its own timeout from the caller's.
      class TimedOut < TimeoutError; end

      # The native `unblock` makes a time slice longer for an instant (see rb_scheduler_unblock.c), and keeps in mind what the
      # thread's priority was.
      module Priority
        def self.install
          return unless RUBY_VERSION < "3.3"

          keep_original unless Thread.private_method_defined?(:plait_priority=)
          Thread.prepend(self)
          Thread.singleton_class.prepend(InheritedPriority)
        end

        def self.keep_original
          Thread.alias_method(:plait_priority=, :priority=)
          Thread.send(:private, :plait_priority=)
        end
        private_class_method :keep_original

        def priority=(priority)
          @plait_priority = nil
          super
        end
      end

      # A thread inherits its priority, and must not inherit a priority that is meant for an instant. (No method here
      # is made by define_method: ractors can't call such methods.)
      module InheritedPriority
        def self.lower
          thread = Thread.current
          return unless thread.instance_variable_get(:@plait_raised)

          thread.instance_variable_set(:@plait_raised, false)
          thread.send(:plait_priority=, thread.instance_variable_get(:@plait_priority))
        end

        def new(...)
          InheritedPriority.lower
          super
        end

        def start(...)
          InheritedPriority.lower
          super
        end

        def fork(...)
          InheritedPriority.lower
          super
        end
      end

      # Ruby 3.1: a fiber that is interrupted in ConditionVariable#wait leaves it without the mutex, and `synchronize`
      # then hides the interruption behind a ThreadError.
      module MutexSleep
        def self.install
          @installed ||= Mutex.instance_method(:sleep).source_location.nil?
          Mutex.prepend(self) if @installed
        end

        # Where Ruby's own is written in Ruby it does it right, and ConditionVariable#wait no longer asks for the method.
        def self.installed? = @installed

        def sleep(timeout = nil)
          scheduler = Patches.scheduler
          return super unless scheduler

          started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          woken = scheduler.sleep_unlocked(self, timeout)
          (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started).round if woken
        end
      end

      # A fiber that leaves by an exception may be the one a signal has chosen; then the others would wait without end. Ruby
      # tells the scheduler about the mutex only.
      module ConditionWait
        def self.install = ConditionVariable.prepend(self)

        def wait(*)
          super
        rescue Exception
          signal if Patches.scheduler
          raise
        end
      end

      private_constant :Join, :TimedOut, :Priority, :InheritedPriority, :ConditionWait
    end
  end
end
