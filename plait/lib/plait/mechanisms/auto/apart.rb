# frozen_string_literal: true

require_relative "../../values"
require_relative "../base"

module Plait
  module Mechanisms
    class Auto < Mechanism
      # The executors of processes and of ractors, one a level. One of them has all items that run.
      class Apart
        # Items for each new worker until its start is over, at most.
        SOON = 4

        # @return [Integer] items that are pending
        attr_reader :pending

        # @param remains [Hash{Object => #call}] gets what ends an executor
        # @param climb [Climb] is asked to leave out what new workers do
        def initialize(attempt, remains, climb)
          @attempt = attempt
          @remains = remains
          @climb = climb
          @executors = {}
          @pending = 0
        end

        def executors = @executors.values

        # @return [Boolean] whether one has had items
        def used? = !@current.nil?

        def open?(level) = @executors.key?(level)

        # @raise [UnsupportedError]
        def open(level)
          @executors[level] || Uninterruptible.run do
            @executors[level] = executor = Mechanisms.find(level.kind).executor(@attempt, limit: level.limit)
            @remains[level] = executor.remains
          end
        end

        # @return [Boolean] whether the level has one with room, and it is the one that has items
        def room?(level) = @current.equal?(@executors[level]) && @current.room?

        # Where the first worker can't be made, nothing has run, and the level is closed again.
        # @raise [UnsupportedError]
        def submit(level, index, item)
          board(level) if @pending.zero?
          @pending += 1
          @current.submit(index, item)
        rescue UnsupportedError
          leave(level) if @pending == 1
          raise
        end

        def ready? = @current.ready?

        # @return [Outcome, nil]
        def take
          outcome = @current.take or return
          @pending -= 1
          greet(outcome.worker) if @new
          outcome
        end

        # Closes the executors that were tried, and lost.
        # @return [Boolean] whether there were some
        def dismiss(level)
          lost = @executors.reject { |one, executor| one == level || (@pending.positive? && executor.equal?(@current)) }
          lost.each_key { |one| close(one) }.any?
        end

        private

        def board(level)
          @limit = level.limit
          executor = @executors.fetch(level)
          @new = [] unless executor.equal?(@current)
          @current = executor
        end

        def leave(level)
          @pending = 0
          close(level)
        end

        def close(level)
          @executors[level].close
          @executors.delete(level)
          @remains.delete(level)
        end

        # A large program takes long to fork: items count once each process, or nearly each, has done one.
        def greet(worker)
          @climb.discount
          @new << worker
          @new = nil if @new.size >= @limit * SOON || @new.uniq.size >= @limit
        end
      end
    end
  end
end
