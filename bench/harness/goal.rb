# frozen_string_literal: true

module Bench
  module Harness
    # What Plait wants to reach in one metric: a bound on its figure, or on its ratio to a named contestant. It is told,
    # never enforced: a machine under load must not fail a build.
    #
    # - `metric` its name
    # - `against` the contestant whose figure is the unit; nil for a bound on Plait's own figure
    # - `of` the contestant that is judged, where it is another one of Plait's ways
    # - `at_most`, `at_least` one of them at least
    Goal = Struct.new(:metric, :against, :of, :at_most, :at_least, keyword_init: true) do
      def initialize(...)
        super
        raise ArgumentError, "a goal needs at_most: or at_least:" unless at_most || at_least
      end

      # @param figure [Numeric, nil] Plait's, or its ratio
      # @return [String] in a word or two
      def verdict(figure)
        return "not measured" if figure.nil?

        met?(figure) ? "met" : "missed"
      end

      def to_s
        bound = at_most ? "≤ #{at_most}" : "≥ #{at_least}"
        whole = against ? "#{bound} × #{against}" : bound
        of ? "#{of}: #{whole}" : whole
      end

      private

      def met?(figure) = (at_most.nil? || figure <= at_most) && (at_least.nil? || figure >= at_least)
    end
  end
end
