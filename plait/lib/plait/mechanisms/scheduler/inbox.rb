# frozen_string_literal: true

module Plait
  class Scheduler
    # What other threads want done on the loop's thread.
    #
    # It sits in the selector's own ready list, because the selector looks there with the GVL held, after its last
    # chance to be preempted and before it sleeps: a look from Ruby just before `select` can be overtaken by a push
    # whose wake-up then finds nobody asleep (a lost wake-up).
    class Inbox
      def initialize(scheduler, selector)
        @scheduler = scheduler
        @selector = selector
        @entries = [] # Array#push and #shift are atomic under the GVL; always the same object
      end

      # @param entry [#dispatch]
      def push(entry)
        @entries << entry
        @selector.push(self)
        @selector.wakeup
      end

      # @!group What the selector asks of a fiber in its ready list

      def alive? = true

      def transfer
        while (entry = @entries.shift)
          @scheduler.ready(entry)
        end
      end
    end
  end
end
