# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # A thread inherits its priority, and must not inherit what is meant for an instant. (As with all methods here, no
      # define_method: ractors can't call what that has made.)
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
    end
  end
end
