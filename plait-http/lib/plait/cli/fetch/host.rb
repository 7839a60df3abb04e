# frozen_string_literal: true

require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # What waits for one host, and how much of it may be asked for now.
      class Host
        # @return [Float] when it may be asked again; monotonic seconds
        attr_reader :open_at
        # @return [Float] seconds between two requests
        attr_accessor :interval
        # @return [Boolean] whether it stands in the queue of those that may be asked
        attr_accessor :queued

        # @param limit [Integer] requests at once
        def initialize(limit)
          @limit = limit
          @waiting = []
          @active = 0
          @open_at = 0.0
          @interval = 0.0
        end

        # @return [void]
        def add(job) = @waiting << job

        # @return [Boolean] whether it may be asked for one more
        def ready?(now) = !@waiting.empty? && @active < @limit && now >= @open_at

        # @return [Job]
        def take(now)
          @active += 1
          pause_until(now + @interval) if @interval.positive?
          @waiting.shift
        end

        # @return [void]
        def finished = @active -= 1

        # @param moment [Float] monotonic seconds
        # @return [Boolean] whether that is later than it was
        def pause_until(moment)
          return false if moment <= @open_at

          @open_at = moment
          true
        end

        # @return [Array<Job>] what was waiting
        def clear = @waiting.slice!(0..)

        # @return [Boolean] whether nothing is lost with it
        def idle?(now) = @waiting.empty? && @active.zero? && now >= @open_at
      end
    end
  end
end
