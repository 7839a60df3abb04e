# frozen_string_literal: true

require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # What has to wait for its time.
      class Timetable
        def initialize
          @moments = []
          @things = []
        end

        # @param thing [Object]
        # @param moment [Float] monotonic seconds
        # @return [void]
        def add(thing, moment)
          place = @moments.bsearch_index { |other| other > moment } || @moments.size
          @moments.insert(place, moment)
          @things.insert(place, thing)
        end

        # Takes out everything whose time has come.
        # @param now [Float] monotonic seconds
        # @return [Array<Object>] the earliest first
        def due(now)
          count = @moments.bsearch_index { |moment| moment > now } || @moments.size
          return [] if count.zero?

          @moments.shift(count)
          @things.shift(count)
        end

        # @return [Float, nil] monotonic seconds
        def next_moment = @moments.first

        # @return [Integer]
        def size = @moments.size
      end
    end
  end
end
