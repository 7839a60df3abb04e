# frozen_string_literal: true

require_relative "../lock"

module Plait
  module RPC
    class Server
      # Where workers sit who have nothing to do. All of it but {#rest} is done under the server's lock.
      class Bench
        # Seconds between two looks whether the work goes on.
        TICK = 0.005
        # Seconds without anything to do after which somebody gets up for good.
        LONG = 10

        # @param lock [Lock]
        def initialize(lock)
          @lock = lock
          @sleepers = []
        end

        # @return [Boolean] whether nobody sits here
        def empty? = @sleepers.empty?

        # @return [Boolean] whether somebody was called who has not come yet
        def called? = @called || false

        # He who was called is there.
        # @return [void]
        def arrived = @called = false

        # From here on one can be called.
        # @return [Lock::Sleeper] of the current thread or fiber
        def sit_down = Lock::Sleeper.new.tap { |sleeper| @sleepers << sleeper }

        # Not under the lock. While methods are run that nobody is called for, one looks now and then.
        # @param sleeper [Lock::Sleeper]
        # @return [Symbol, nil] :long when nothing has come for long
        def rest(sleeper)
          watches = @lively && !@watched
          @watched = true if watches
          @lively = false if watches
          @lock.sleep(sleeper, watches ? TICK : LONG)
          :long unless watches || sleeper.called?
        ensure
          @watched = false if watches
          @lock.exclusively { sleeper.called? ? arrived : @sleepers.delete(sleeper) }
        end

        # Work is done that might wait, though it never did: somebody has to have an eye on it.
        # @return [Boolean] whether nobody has
        def unwatched?
          @lively = true
          !@watched
        end

        # Calls one, the last to have sat down.
        # @return [Boolean] whether there was anybody
        def call
          return false if empty?

          @called = true
          @sleepers.pop.call
          true
        end

        # One who has not sat here yet will come.
        # @return [void]
        def expect = @called = true

        # @return [void]
        def call_all = @sleepers.each(&:call)
      end
    end
  end
end
