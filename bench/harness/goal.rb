# frozen_string_literal: true

module Bench
  module Harness
    # What Plait wants to reach in one metric: a bound on its figure, or on its ratio to a named contestant. It is told,
    # never enforced: a machine under load must not fail a build.
    class Goal
      # @return [String] the metric's name
      attr_reader :metric
      # @return [String, nil] the contestant whose figure is the unit; nil for a bound on Plait's own figure
      attr_reader :against
      # @return [String, nil] the contestant that is judged, where it is another one of Plait's ways
      attr_reader :of
      # @return [Numeric, nil]
      attr_reader :at_most, :at_least

      def initialize(metric:, against: nil, of: nil, at_most: nil, at_least: nil)
        raise ArgumentError, "a goal needs at_most: or at_least:" unless at_most || at_least

        @metric = metric
        @of = of
        @against = against
        @at_most = at_most
        @at_least = at_least
      end

      # @param figure [Numeric, nil] Plait's, or its ratio
      # @return [String] in a word or two
      def verdict(figure)
        return "not measured" if figure.nil?

        met?(figure) ? "met" : "missed"
      end

      # @param figure [Numeric] Plait's, or its ratio
      # @return [Boolean]
      def met?(figure) = (at_most.nil? || figure <= at_most) && (at_least.nil? || figure >= at_least)

      def to_s
        bound = at_most ? "≤ #{at_most}" : "≥ #{at_least}"
        whole = against ? "#{bound} × #{against}" : bound
        of ? "#{of}: #{whole}" : whole
      end
    end
  end
end
