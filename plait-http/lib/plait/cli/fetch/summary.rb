# frozen_string_literal: true

require "json"
require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # What there is to say when a run is over: for people, and as JSON for a program.
      class Summary
        PERCENTILES = { "p50" => 0.5, "p90" => 0.9, "p99" => 0.99 }.freeze
        SCHEMA = 1

        # @param tally [Tally] of this run
        # @param book [Book]
        # @param seconds [Float] that it took
        # @param interrupted [Boolean]
        def initialize(tally, book, seconds, interrupted:)
          @tally = tally
          @book = book
          @seconds = seconds
          @interrupted = interrupted
        end

        # @return [Array<String>]
        def lines = [totals, latency, errors, *disallowed, *before].compact

        # @return [String] JSON and a line break
        def to_json(*)
          "#{JSON.generate(schema: SCHEMA, ok: @tally.ok, failed: @tally.failed, before: before_counts,
                           retries: @tally.again, disallowed: @tally.disallowed, bytes: @tally.bytes,
                           seconds: @seconds.round(3), per_second: rate.round(1), latency_seconds: percentiles,
                           statuses: sorted(@tally.statuses), errors: sorted(@tally.errors),
                           interrupted: @interrupted)}\n"
        end

        private

        def totals
          "#{number(@tally.ok)} fetched, #{number(@tally.failed)} failed; #{size(@tally.bytes)} in #{seconds(@seconds)}, " \
            "#{number(rate.round)}/s"
        end

        def latency
          found = percentiles or return
          "latency: #{found.map { |name, value| "#{name} #{seconds(value)}" }.join(", ")}"
        end

        def errors
          return if @tally.errors.empty?

          "errors: #{sorted(@tally.errors).map { |kind, count| "#{kind} #{number(count)}" }.join(", ")}"
        end

        def disallowed
          count = @tally.disallowed
          "#{number(count)} #{count == 1 ? "link" : "links"} left alone, as robots.txt asks" if count.positive?
        end

        def before
          return if @book.before.zero?

          "#{number(@book.before)} were finished before this run, #{number(@book.before_failed)} of them failed"
        end

        def before_counts = { ok: @book.before - @book.before_failed, failed: @book.before_failed }

        # @return [Hash{String => Float}, nil] seconds; nil without an answer
        def percentiles
          histogram = @tally.latency
          return if histogram.count.zero?

          { **PERCENTILES.transform_values { |share| histogram.quantile(share) }, "max" => histogram.max }
            .transform_values { |value| value.round(6) }
        end

        # The most frequent first.
        def sorted(counts) = counts.sort_by { |key, count| [-count, key.to_s] }.to_h

        def rate = @seconds.positive? ? @tally.total / @seconds : 0.0

        def number(count) = count.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")

        def seconds(value)
          return format("%.0f µs", value * 1e6) if value < 0.001
          return format("%.3g ms", value * 1e3) if value < 1

          value < 100 ? format("%.3g s", value) : "#{number(value.round)} s"
        end

        def size(bytes)
          return "#{bytes} bytes" if bytes < 1024

          unit, factor = { "KiB" => 1 << 10, "MiB" => 1 << 20, "GiB" => 1 << 30 }.select { |_, least| bytes >= least }.to_a.last
          format("%.1f %s", bytes.fdiv(factor), unit)
        end
      end
    end
  end
end
