# frozen_string_literal: true

require_relative "wait"

module Plait
  class Scheduler
    # The wait of a fiber that somebody has to unblock: another fiber, or a thread.
    class Blocked < Wait
      # @return [Object, nil] what it waits for
      attr_reader :blocker

      def initialize(fiber, blocker)
        super(fiber)
        @blocker = blocker
      end

      # Another thread's word can arrive when its fiber, cancelled meanwhile, already waits for something else. Ruby names
      # a condition variable by its mutex, and for Thread#join not the same thread to both hooks.
      # @return [Boolean] whether a word about this blocker is meant for this wait
      def answers?(blocker)
        @blocker.equal?(blocker) || @blocker.nil? || (@blocker.is_a?(Thread) && blocker.is_a?(Thread))
      end
    end
  end
end
