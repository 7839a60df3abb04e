# frozen_string_literal: true

module Plait
  module Patches
    # Of Thread, on the Rubies before 3.3: priorities.
    module PriorityPatches
      def self.install = Priority.install

      # The native `unblock` makes a time slice longer for an instant (see rb_scheduler_unblock.c), and keeps in mind what the
      # thread's priority was.
      module Priority
        def self.install
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

      private_constant :Priority, :InheritedPriority
    end
  end
end
