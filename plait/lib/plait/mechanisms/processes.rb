# frozen_string_literal: true

require "etc"
require_relative "mechanism"
require_relative "processes/isolated"
require_relative "processes/pool"
require_relative "processes/serial"
require_relative "scope/forked"

module Plait
  module Mechanisms
    # A pool of forked processes: everything runs truly in parallel. The block and what it closes over reach the workers by
    # fork, which copies nothing until it is written to; items and results travel by Marshal through pipes.
    #
    # An item is run at most once, unless there are retries. When a worker dies, only the item that it was running is
    # reported as {WorkerDied} (or run again); what waited at it goes to others, and a new worker takes its place.
    class Processes < Mechanism
      # Workers at most, whatever the limit: each has a place that is looked at for each item, and no machine runs as many.
      MOST = 10_000

      def default_limit = Etc.nprocessors

      def unavailable
        return beyond_this_ractor("fork workers") if Process.respond_to?(:fork)

        "#{RUBY_ENGINE} on #{RUBY_PLATFORM} can't fork; use on: :threads"
      end

      def executor(attempt, limit:)
        Pool.new(attempt, Array.new([limit, MOST].min, 1)) { |pipes| Serial.new(attempt, pipes).run }
      end

      # Each task in a process forked for it.
      def scope(**options, &block) = Scope::Forked.open(**options, isolate: Isolated, &block)
    end
  end
end
