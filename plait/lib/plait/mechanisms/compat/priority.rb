# frozen_string_literal: true

require_relative "inherited_priority"

module Plait
  module Mechanisms
    module Compat
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
    end
  end
end
