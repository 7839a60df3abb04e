# frozen_string_literal: true

require "plait/cli/command"
require "plait/lab"
require "plait/lab/statistics"
require "plait/lab/text"
require "plait/values/quantity"

module Plait
  module CLI
    class Serve < Command
      # The answer about an app, as people and programs read it.
      class AppAdvice
        # @param findings [Adviser::Findings]
        # @param rackup [String]
        def initialize(findings, rackup)
          @found = findings
          @rackup = rackup
          @judgement = findings.judgement
        end

        # @return [Row, nil] nil where too little is known
        def row = @judgement&.favourite

        # @return [Symbol, nil] the mechanism
        def on = row&.on

        def interrupted? = @found.interrupted || false

        # @param percent [Numeric] 0..100
        # @return [Float, nil] seconds, at {Adviser::Findings} `rate`; nil with too few requests
        def latency(percent, of: row)
          @found.latencies[of]&.then { |values| Plait::Lab::Statistics.new(values).percentile(percent) }
        end

        # @return [String]
        def to_s
          lines = row ? [sentence, "  #{row.command(@rackup)}"] : ["no answer: #{missing}"]
          [*lines, labelled("Why", why), labelled("Latency", latencies), labelled("How sure", (how_sure if row)),
           labelled("Not", others.join("; ")), labelled("With Puma", puma)].compact.join("\n")
        end

        # @return [Hash]
        def to_h
          { **of_row, certainty: certainty, wall: @found.wall, computes: share, rate: @found.rate,
                      excluded: @found.excluded.map { |one, reason| { **one.to_h, reason: reason } }, interrupted: interrupted?,
                      rounds: @found.series.map { |one, values| { **one.to_h, values: values } } }
        end

        private

        def of_row
          return %i[row requests_per_second p50 p99 memory].to_h { |name| [name, nil] } unless row

          { row: row.to_h, requests_per_second: rate(row), p50: latency(50), p99: latency(99), memory: @found.memory[row] }
        end

        def labelled(...) = Plait::Lab::Text.labelled(...)

        def sentence
          base = @judgement.reference
          return "use #{row}: #{per_second(row)}" if base == row

          found = @judgement.against(base, row)
          range = " (#{Quantity.number(found.low)} to #{Quantity.number(found.high)})" if found.low
          "use #{row}: #{per_second(base)} → #{per_second(row)}, #{Quantity.times(found.ratio)}#{range}"
        end

        def per_second(one) = "#{Quantity.number(rate(one))} requests/s"

        def rate(one) = 1 / @found.median(one)

        def missing
          return "interrupted" if interrupted?

          @found.excluded.any? ? "no row serves this app" : "the budget was too short"
        end

        def share = @found.wall&.positive? ? (@found.held / @found.wall).clamp(0.0, 1.0) : nil

        def why
          return unless share

          "a request takes #{Quantity.seconds(@found.wall)} alone; it computes #{Quantity.percent(share)} of that time and " \
            "waits #{Quantity.percent(1 - share)}"
        end

        def latencies
          return unless row && @found.latencies[row]

          memory = @found.memory[row]
          own = "at #{Quantity.number(@found.rate)} requests/s p50 #{Quantity.seconds(latency(50))}, " \
                "p99 #{Quantity.seconds(latency(99))}#{", #{Quantity.memory(memory)}" if memory}"
          [own, *@found.latencies.keys.map { |one| compared(one) unless one == row }].compact.join("; ")
        end

        def compared(one)
          mine, other = [row, one].map { |each| latency(99, of: each) }
          "#{one}: p99 #{format("%+d", ((other / mine) - 1) * 100)} %" if mine && other
        end

        def certainty
          return :unknown unless row

          interrupted? || @judgement.best.nil? ? :unsettled : @judgement.certainty
        end

        def how_sure
          rounds = @judgement.rounds
          { clear: "clear, after #{rounds} rounds", same: "the simplest of equals: #{@judgement.equals.join("; ")}",
            unsettled: "not settled after #{rounds} rounds: a larger --budget on a quiet machine settles it" }.fetch(certainty)
        end

        def others
          slower = (@judgement&.rows || []) - [row, @judgement&.reference]
          rest = @found.scanned.keys - @found.series.keys
          slower.filter_map { |one| clause(one, @judgement.against(one, row)) } +
            rest.map { |one| "#{one}: #{Quantity.number(1 / @found.scanned[one])}/s in a short trial" } +
            @found.excluded.map { |one, reason| "#{one}: #{reason.delete_suffix(".")}" }
        end

        def clause(one, found)
          answer = { same: "equal", unsettled: "not settled" }[found.answer]
          "#{one}: #{Quantity.times(found.ratio)}#{" (#{answer})" if answer}" if found.ratio
        end

        # Its threads and workers mean the same.
        def puma
          return unless row&.on == :threads

          "threads #{row.limit}, #{row.limit}#{"; workers #{row.workers}" if row.workers > 1}"
        end
      end
      private_constant :AppAdvice
    end
  end
end
