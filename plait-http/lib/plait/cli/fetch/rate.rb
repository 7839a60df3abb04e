# frozen_string_literal: true

require "plait/values/errors"
require "plait/cli/arguments"
require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # So many requests in a second and no more, evenly spaced. Who comes late may catch up a little, so that the rate is
      # reached; never more than {SLACK} at once.
      class Rate
        # Seconds of requests that may be made up for.
        SLACK = 0.1
        UNITS = { nil => 1, "s" => 1, "m" => 60, "h" => 3600 }.freeze

        # @param text [String] "50", "50/s", "200/m", "1000/h"
        # @return [Rate]
        # @raise [UsageError]
        def self.parse(option, text)
          number, slash, unit = text.partition("/")
          seconds = UNITS[slash.empty? ? nil : unit] or
            raise UsageError, "#{option} #{text}: not a rate; 50/s, 200/m and 1000/h are some"
          new(Arguments.positive(option, number) / seconds)
        end

        # @param per_second [Numeric]
        def initialize(per_second)
          @interval = 1.0 / per_second
          @next = nil
        end

        # @param now [Float] monotonic seconds
        # @return [Boolean] whether one may begin
        def ready?(now) = @next.nil? || now >= @next

        # One begins.
        # @return [void]
        def take(now) = @next = [@next || now, now - SLACK].max + @interval

        # @return [Float, nil] when the next one may begin; monotonic seconds
        def next_moment = @next
      end
    end
  end
end
