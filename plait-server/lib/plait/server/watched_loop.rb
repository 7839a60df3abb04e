# frozen_string_literal: true

require "plait/mechanisms/scheduler"

module Plait
  class Server
    # A loop of fibers that notices who holds it up.
    module WatchedLoop
      # Mechanisms take the loop that is there already in the thread, and it turns for them.
      # @param seconds [Numeric]
      # @param watch [Watch] is told
      # @yield with it in place
      # @return [Object] what the block returns
      def self.around(seconds, watch)
        thread = Thread.current
        report = ->(told) { watch.blocked(told, thread) }
        Fiber.set_scheduler(Scheduler.new(blocking: report, threshold: seconds))
        begin
          yield
        ensure
          Fiber.set_scheduler(nil)
        end
      end
    end
  end
end
