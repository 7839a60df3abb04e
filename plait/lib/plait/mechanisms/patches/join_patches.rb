# frozen_string_literal: true

require_relative "../../values/errors"
require_relative "../time_limit"
require_relative "gate"

module Plait
  module Patches
    # Of Thread, on the Rubies before 3.3: join.
    module JoinPatches
      def self.install = Join.install

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

      private_constant :Join, :TimedOut
    end
  end
end
