# frozen_string_literal: true

require "plait/lab"
require "plait/lab/advice"
require "plait/lab/statistics"

module Plait
  module CLI
    class Serve < Command
      # The answer about an app, as people and programs read it.
      class AppAdvice
        include Plait::Lab::Verdict

        def initialize(findings, rackup)
          @found = findings
          @rackup = rackup
          @judgement = findings.judgement
          @interrupted = findings.interrupted
        end

        # @return [Symbol, nil] the mechanism
        def on = row&.on

        # @param percent [Numeric] 0..100
        # @return [Float, nil] seconds, at {Adviser::Findings} `rate`; nil with too few requests
        def latency(percent, of: row)
          @found.latencies[of]&.then { |values| Plait::Lab::Statistics.new(values).percentile(percent) }
        end

        def to_s
          base = @judgement&.reference
          first = row ? [sentence((base unless base == row)), "  #{row.command(@rackup)}"] : ["no answer: #{missing}"]
          [*first, *lines("Why" => why, "Latency" => latencies, "How sure" => (how_sure if row), "Not" => others.join("; "),
                          "With Puma" => puma)].join("\n")
        end

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

        def name(one) = one.to_s

        def amount(one) = "#{Quantity.number(rate(one))} requests/s"

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

        def how_sure = "#{settled}#{": a larger --budget on a quiet machine settles it" if certainty == :unsettled}"

        def others
          slower = (@judgement&.rows || []) - [row, @judgement&.reference]
          rest = @found.scanned.keys - @found.series.keys
          slower.filter_map { |one| clause(one) } +
            rest.map { |one| "#{one}: #{Quantity.number(1 / @found.scanned[one])}/s in a short trial" } +
            @found.excluded.map { |one, reason| "#{one}: #{reason.delete_suffix(".")}" }
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
