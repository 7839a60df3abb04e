# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # A fiber that leaves by an exception may be the one a signal has chosen; then the others would wait for ever. Ruby
      # tells the scheduler about the mutex only.
      module ConditionWait
        def self.install = ConditionVariable.prepend(self)

        def wait(*)
          super
        rescue Exception
          signal if Compat.scheduler
          raise
        end
      end
    end
  end
end
