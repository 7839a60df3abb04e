# frozen_string_literal: true

require_relative "patches"
require_relative "fibers/loop_thread"
require_relative "fibers/pool"
require_relative "fibers/host"
require_relative "fibers/task_scope"
require_relative "scheduler"

module Plait
  module Mechanisms
    # N fibers of one thread: waiting overlaps, computing does not. Inside a fiber of another scheduler (Async, Falcon,
    # a {Scheduler} set by hand) they run there; else on a loop of their own, in the calling thread unless that is in a
    # fiber that may be suspended.
    class Fibers < Mechanism
      DEFAULT_LIMIT = 64

      def default_limit = DEFAULT_LIMIT

      def unavailable
        schedulers = Fiber.respond_to?(:current_scheduler) && RUBY_ENGINE == "ruby"
        return Mechanism.beyond_this_place("turn an event loop") if schedulers

        "#{RUBY_ENGINE} #{RUBY_ENGINE_VERSION} has no fiber scheduler; use on: :threads"
      end

      def executor(attempt, limit:) = Fiber.current_scheduler ? Guest.new(attempt, limit) : own.new(attempt, limit)

      # One whose loop turns in a thread of its own, wherever the caller is.
      # @param finished [Thread::Queue] gets the outcomes, and what {ThreadedHost#receive} raises
      def apart(attempt, limit:, finished:) = ThreadedHost.new(attempt, limit, finished: finished)

      def scope(options:, &block)
        return TaskScope.open(options: options, &block) if Fiber.current_scheduler

        own.run(deadline: options.deadline) { TaskScope.open(options: options, &block) }
      end

      private

      # @return [Class] of the pool that brings a loop along
      def own = Patches.root? ? Host : ThreadedHost
    end
    private_constant :Fibers
  end
end
