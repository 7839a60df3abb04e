# frozen_string_literal: true

require_relative "../values/quantity"

module Plait
  module Lab
    # The words of an advice: which row to use, how sure that is, and how the others did. It reads @judgement, which is nil where
    # too little is known, and @interrupted. The class has the `name` of a row, and its `amount`: a time or a rate.
    # @api private
    module Verdict
      # @return [Symbol] :clear, :same (others are equal, and this is the simplest), :unsettled or :unknown
      def certainty
        return :unknown unless row

        @interrupted || @judgement.best.nil? ? :unsettled : @judgement.certainty
      end

      # @return [Boolean] Ctrl-C ended it
      def interrupted? = @interrupted || false

      private

      # @return [Object, nil] the row to use
      def row = @judgement&.favourite

      # @param base [Object, nil] the row that the named one is held against
      def sentence(base)
        found = base && @judgement.against(base, row)
        return "use #{name(row)}: #{amount(row)}" unless found&.ratio

        range = " (#{Quantity.number(found.low)} to #{Quantity.number(found.high)})" if found.low
        "use #{name(row)}: #{amount(base)} → #{amount(row)}, #{Quantity.times(found.ratio)}#{range}"
      end

      def settled
        rounds = @judgement.rounds
        { clear: "clear, after #{rounds} rounds", unsettled: "not settled after #{rounds} rounds",
          same: "the simplest of equals: #{@judgement.equals.map { |one| name(one) }.join("; ")}" }.fetch(certainty)
      end

      # @return [String, nil] nil with too few rounds
      def clause(one)
        found = @judgement.against(one, row)
        answer = { same: "equal", unsettled: "not settled" }[found.answer]
        "#{name(one)}: #{Quantity.times(found.ratio)}#{" (#{answer})" if answer}" if found.ratio
      end

      # @param parts [Hash{String => String, nil}] by title; a text that is unknown is left out
      def lines(parts) = parts.filter_map { |title, text| "#{title}: #{text}." unless text.nil? || text.empty? }
    end
  end
end
