# frozen_string_literal: true

require_relative "timed_out"
require_relative "../time_limit"

module Plait
  module Mechanisms
    module Compat
      # Ruby 3.1: join with a timeout never comes back in a fiber (bug 19709). Without one it does.
      module Join
        def self.install = Thread.prepend(self)

        # (In a Thread, `raise` would be Thread#raise.)
        def self.check(limit)
          return if limit.is_a?(Numeric) && limit.real?

          raise TypeError, "no implicit conversion of #{limit.class} into Float"
        end

        def join(limit = nil)
          return super unless limit && Compat.scheduler && alive?

          Join.check(limit)
          TimeLimit.enforce(limit, TimedOut) { super() }
        rescue TimedOut
          nil
        end
      end
    end
  end
end
