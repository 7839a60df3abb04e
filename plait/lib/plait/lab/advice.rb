# frozen_string_literal: true

require_relative "scalability"
require_relative "statistics"

module Plait
  module Lab
    # The words of an advice: which row to use, how sure that is, and how the others did. It reads @judgement, which is nil where
    # too little is known, and @interrupted. The class has the `name` of a row, and its `amount`: a time or a rate.
    # @api private
    module Verdict
      # @return [Symbol] :clear, :same (others are equal, and this is the simplest), :near (at most 10 % slower than another one),
      #   :unsettled or :unknown
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
        after = "after #{@judgement.rounds} round#{"s" if @judgement.rounds != 1}"
        case certainty
        when :clear then "clear, #{after}"
        when :same then "the simplest of equals: #{@judgement.equals.map { |one| name(one) }.join("; ")}"
        when :near then "at most #{Quantity.percent(@judgement.most_lost - 1)} slower than the fastest, #{after}"
        else "not settled #{after}"
        end
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

    # What {Plait.advise} answers.
    class Advice
      include Verdict

      # How much faster than one after another: `median`, `low` and `high` are ratios.
      Gain = Struct.new(:median, :low, :high, keyword_init: true)
      # Values without which no percentile is given; raising it refuses more percentiles.
      VALUES = 100

      # Seconds of an item below which its hand-over counts.
      SHORT = 0.00002

      # A sentence of *Why* or *Would change it*, for profiles that are evidence for it.
      # - `about` :why or :change, `evidence` profile => Boolean, `sentence` profile => String
      Rule = Struct.new(:about, :evidence, :sentence)

      RULES = [
        Rule.new(:why, ->(one) { one.share(:waits) > 0.1 && one.share(:blocks) < 0.1 },
                 ->(one) { "it waits #{Quantity.percent(one.share(:waits))} of its time, and an event loop sees the wait" }),
        Rule.new(:why, ->(one) { one.share(:blocks) >= 0.1 },
                 lambda do |one|
                   "#{Quantity.percent(one.share(:blocks))} of its time it waits in a call that blocks an event loop" \
                     "#{" (#{one.place})" if one.place}"
                 end),
        Rule.new(:why, ->(one) { one.share(:held) > 0.1 },
                 ->(one) { "it computes #{Quantity.percent(one.share(:held))} of its time, with the GVL held" }),
        Rule.new(:why, ->(one) { one.share(:free) > 0.1 },
                 ->(one) { "it computes #{Quantity.percent(one.share(:free))} of its time without the GVL" }),
        Rule.new(:why, ->(one) { one.wall < SHORT }, ->(_) { "it is so short that its hand-over costs as much" }),
        Rule.new(:change, ->(one) { one.share(:blocks) >= 0.1 },
                 ->(_) { "Plait.offload around the call that blocks lets fibers overlap it" }),
        Rule.new(:change, ->(one) { one.share(:waits) > 0.5 },
                 ->(_) { "a peer that answers fewer requests at once makes a smaller limit enough" }),
        Rule.new(:change, ->(one) { one.share(:held) > 0.5 && one.wall > SHORT }, ->(_) { "more processors help processes" }),
        Rule.new(:change, ->(one) { one.wall < SHORT }, ->(_) { "larger items (each_slice(1_000), say) are worth it" })
      ].freeze
      # The row that all others are held against.
      ALONE = [:sequence, nil].freeze
      private_constant :Rule, :RULES, :SHORT, :VALUES, :ALONE

      # @return [Hash{Symbol, Array<Symbol> => String}] the mechanisms that can't run the block, each with the reason
      attr_reader :excluded
      # @return [String, nil] why there is no answer
      attr_reader :failure

      # @api private
      def initialize(goal:, items:, budget:, profile:, scanned:, judgement:, series:, latencies:, excluded:, failure:,
                     interrupted:, once:, unsteady:)
        @goal = goal
        @items = items
        @budget = budget
        @profile = profile
        @scanned = scanned
        @judgement = judgement
        @series = series
        @latencies = latencies
        @excluded = excluded.freeze
        @failure = failure
        @interrupted = interrupted
        @once = once
        @unsteady = unsteady
      end

      # @return [Symbol, Array<Symbol>, nil] the mechanism or pair; nil where too little is known
      def on = row&.first

      # @return [Integer, nil] items at once; nil one after another
      def limit = row&.last

      # @return [Gain, nil] nil where one after another was not measured beside it, or is the answer
      def gain
        return if row.nil? || on == :sequence || !@judgement.rows.include?(ALONE)

        found = @judgement.against(ALONE, row)
        Gain.new(median: found.ratio, low: found.low, high: found.high) if found.ratio
      end

      # @return [Array<Array>] mechanism and limit of each row that is as good
      def same_as = row && @judgement.best ? @judgement.equals : []

      # @param percent [Numeric] 0..100
      # @return [Float, nil] seconds that an item takes under the advised mechanism; nil with fewer than 100 values
      def latency(percent)
        values = row ? @latencies.fetch(row, []) : []
        Statistics.new(values).percentile(percent) if values.size >= VALUES
      end

      # @return [String] the answer in one sentence, the line to paste, and what speaks for and against it
      def to_s = (row ? answer : no_answer).join("\n")

      # @return [Hash]
      def to_h
        { on: on, limit: limit, goal: @goal, certainty: certainty, gain: gain&.to_h, same_as: same_as, excluded: excluded,
          failure: failure, interrupted: interrupted?, items: @items, profile: @profile&.to_h, scaling: scaling&.to_h,
          rounds: @series.map { |(mechanism, width), values| { on: mechanism, limit: width, values: values } } }
      end

      # @return [String]
      def inspect = "#<#{self.class} #{row ? name(row) : "nothing"} (#{certainty})>"

      private

      # @return [Array, nil] mechanism and limit
      def row = @series.values.any?(&:any?) ? super : nil

      def answer
        parts = { "Why" => why, "How sure" => how_sure, "Not" => others.join("; "), "Limits" => limits,
                  "Would change it" => @items == 1 ? "more items" : of_rules(:change), "To settle it" => settling }
        [sentence((ALONE if gain)), "  #{line}", *lines(parts)]
      end

      def no_answer
        parts = { "Learned" => @profile && why, "Not" => others.join("; "), "Next" => failure ? nil : settling }
        [failure ? "no mechanism runs this block: #{failure}" : "no answer: #{missing}", *lines(parts)]
      end

      def missing
        return "interrupted before all mechanisms were tried" if @interrupted

        @once ? "the #{@items} items or the #{@budget} s ran out before all mechanisms were tried" : "#{@budget} s were too short"
      end

      # @return [String] the time of all items
      def amount(one) = Quantity.seconds(Statistics.of(@series.fetch(one).map { |round| round[:time] }).median * @items)

      def line = "Plait.map(items, on: #{on.inspect}#{", limit: #{limit.inspect}" if limit}) { |item| … }"

      def name(one)
        mechanism, width = one
        return "no mechanism, one after another" if mechanism == :sequence

        "#{Array(mechanism).join(" × ")}, #{width} at once"
      end

      def why
        found = "an item takes #{Quantity.seconds(@profile.wall)}"
        [found, *of_rules(:why)].reject(&:empty?).join("; ")
      end

      # @return [Scalability, nil] of the advised mechanism, over the limits that were tried
      def scaling
        points = row ? @scanned.select { |(mechanism, width), _| mechanism == on && width.is_a?(Integer) } : {}
        Scalability.of(points.to_h { |(_, width), time| [width, 1 / time] })
      end

      # A peak far beyond what was tried is a guess.
      def limits
        fit = scaling or return
        widths = @scanned.keys.filter_map { |mechanism, width| width if mechanism == on }
        known = "#{Array(on).join(" × ")} was tried with #{widths.sort.join(", ")} at once"
        return "#{known}; more at once is slower from about #{fit.peak} on" if fit.peak && fit.peak <= widths.max

        "#{known}; #{Quantity.percent(fit.contention)} of an item waits for its turn" if fit.contention > 0.005
      end

      def of_rules(about)
        RULES.select { |rule| rule.about == about && rule.evidence.call(@profile) }
             .map { |rule| rule.sentence.call(@profile) }.join("; ")
      end

      def how_sure
        [settled, *("results differ from run to run, so they were not compared" if @unsteady),
         *("each item ran once, so results were not compared" if @once), *("interrupted" if @interrupted)].join("; ")
      end

      def others
        slower = row ? (@series.keys - [row, *(ALONE if gain)]).filter_map { |one| clause(one) } : []
        seen = @series.keys.map(&:first) + excluded.keys
        dropped = @scanned.reject { |one, _| seen.include?(one.first) }.group_by { |one, _| one.first }
        slower + dropped.map { |_, rows| hopeless(rows) } + refusals
      end

      def refusals
        excluded.group_by(&:last).map do |reason, all|
          "#{all.map { |mechanism, _| Array(mechanism).join(" × ") }.join(", ")}: #{reason.delete_suffix(".")}"
        end
      end

      def hopeless(rows)
        one, time = rows.min_by(&:last)
        own = Statistics.of(@series.fetch(row, []).map { |round| round[:time] })&.median if row
        "#{name(one)}: #{own ? Quantity.times(time / own) : "slower"} in one trial"
      end

      def settling
        return unless %i[unsettled unknown].include?(certainty)

        "#{"more items, and " if @once}a budget of #{(@budget * 4).ceil} s, on a quiet machine"
      end
    end
  end
end
