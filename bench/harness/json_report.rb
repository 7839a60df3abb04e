# frozen_string_literal: true

require "json"
require_relative "ledger"

module Bench
  module Harness
    # The report for machines. A ratio is Plait ÷ the other, in the metric's unit.
    class JsonReport
      SCHEMA = 1

      # @param subject [String]
      # @param environment [Hash{String => Object}]
      # @param ledgers [Array<Ledger>]
      def initialize(subject, environment, ledgers)
        @subject = subject
        @environment = environment
        @ledgers = ledgers
      end

      # @return [Hash{String => Object}]
      def to_h
        { "schema" => SCHEMA, "subject" => @subject, "environment" => @environment,
          "cases" => @ledgers.flat_map { |ledger| ledger.bench_case.metrics.map { |metric| entry(ledger, metric) } } }
      end

      def to_json(*) = "#{JSON.pretty_generate(to_h)}\n"

      private

      def entry(ledger, metric)
        bench_case = ledger.bench_case
        { "case" => bench_case.name, "metric" => metric.name, "unit" => metric.unit,
          "lower_is_better" => metric.lower_is_better?, "plait" => figures(ledger, bench_case.plait, metric),
          "peers" => bench_case.peers.to_h { |peer| [peer.name, figures(ledger, peer, metric)] },
          "floor" => figures(ledger, bench_case.floor, metric), **ratios(ledger, metric) }
      end

      def ratios(ledger, metric)
        { "ratio_to_best_peer" => round(ledger.ratio(ledger.best_peer(metric), metric)),
          "ratio_to_floor" => round(ledger.ratio(ledger.bench_case.floor, metric)) }
      end

      def figures(ledger, contestant, metric)
        return if contestant.nil?

        summary = ledger.summary(contestant, metric)
        return { "missing" => reason(ledger, contestant) } unless summary

        told = summary.to_h.to_h { |name, value| [name.to_s, round(value)] }
        told.merge(paired(ledger, contestant, metric))
      end

      def reason(ledger, contestant)
        return "results differ" if ledger.mismatch?

        ledger.failure(contestant) || "no such figure"
      end

      def paired(ledger, contestant, metric)
        contestant.plait? ? {} : { "paired_ratio" => round(ledger.paired_ratio(contestant, metric)) }
      end

      def round(number) = number.is_a?(Float) ? number.round(4) : number
    end
  end
end
