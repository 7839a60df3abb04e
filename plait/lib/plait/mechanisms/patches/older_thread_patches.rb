# frozen_string_literal: true

module Plait
  module Patches
    # Of Thread, on the Rubies before 3.3: join, and priorities.
    module OlderThreadPatches
      def self.install = [Join, Priority].each(&:install)

      # With a timeout it never comes back in a fiber (bug 19709). Without one it does.
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

        Gate.before(self, :join)
      end

      # How {Join} tells its own timeout from the caller's.
      class TimedOut < TimeoutError; end

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

      private_constant :Join, :TimedOut, :Priority, :InheritedPriority
    end
  end
end
