# frozen_string_literal: true

require_relative "auto/pool"
require_relative "auto/decision"

module Plait
  module Mechanisms
    # Measures while it works, and chooses the mechanism and the limit that get most items done. One after another, and on
    # threads, the items are in worker threads; so an item sees the same whatever is chosen.
    class Auto < Mechanism
      # What it chooses from where the caller names nothing: mechanisms that share memory.
      AMONG = %i[sequence threads fibers hybrid].freeze
      ALL = [*AMONG, :processes, :ractors].freeze

      # Items in flight at most where the caller names no limit.
      DEFAULT_LIMIT = 256

      def default_limit = DEFAULT_LIMIT

      def executor(attempt, limit:) = Pool.new(attempt, limit, usable(attempt.policy.among || AMONG))

      def scope(**)
        raise UsageError, "Plait.run has no items from which on: :auto could learn; name a mechanism, such as on: :threads"
      end

      # @param among [Array<Symbol>, nil] names of mechanisms, of the caller
      def check_among(among)
        return if among.nil? || (among.any? && (among - ALL).empty?)

        raise UsageError, "among: names mechanisms that on: :auto may choose, of #{ALL.map(&:inspect).join(", ")}, " \
                          "not #{among.inspect}"
      end

      private

      def usable(among)
        among = among.select { |name| Mechanisms.find(name).unavailable.nil? }
        return among if among.any?

        raise UnsupportedError, "on: :auto can use none of what among: names here"
      end
    end
    private_constant :Auto
  end
end
