# frozen_string_literal: true

require_relative "../values/deadline"
require_relative "time_left"

module Plait
  module CLI
    # Progress where it can't be redrawn, in a log or a pipe: a line when a session begins, and one now and then.
    class ProgressLines
      # Seconds between two lines.
      INTERVAL = 10

      # @param terminal [Terminal]
      # @param of [String] what is counted, in the plural
      # @param interval [Numeric] seconds
      def initialize(terminal, of: "steps", interval: INTERVAL)
        @terminal = terminal
        @of = of
        @interval = interval
      end

      # @param fresh [Boolean] a session begins
      # @return [void]
      def show(done:, total:, left:, what:, fresh: false)
        return unless what && (fresh || @last.nil? || Deadline.now - @last >= @interval)

        @last = Deadline.now
        @terminal.note("plait: #{done} of #{total} #{@of}, #{what}#{", #{TimeLeft.words(left)}" if left}")
      end

      # @return [void]
      def clear = nil
    end
  end
end
