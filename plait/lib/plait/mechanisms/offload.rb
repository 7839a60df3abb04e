# frozen_string_literal: true

require_relative "offload/pool"

module Plait
  module Mechanisms
    # Blocking calls of fibers, run on threads: the fiber waits, the loop goes on.
    module Offload
      SHARING = Mutex.new
      private_constant :SHARING

      # @param stop [#call, nil] see {Plait.offload}
      # @return [Object] what the block returns; outside of a fiber scheduler it just runs
      def self.call(stop: nil, &block)
        scheduler = Fiber.current_scheduler
        return yield unless scheduler

        scheduler.respond_to?(:offload_pool) ? scheduler.offload_pool.call(stop: stop, &block) : shared.call(stop: stop, &block)
      end

      # For the fibers of other schedulers; a scheduler of ours has, and closes, a pool of its own.
      # @return [Pool]
      def self.shared
        SHARING.synchronize do
          @shared = Pool.new if @shared.nil? || @shared.stale?
          @shared
        end
      end
    end
  end
end
