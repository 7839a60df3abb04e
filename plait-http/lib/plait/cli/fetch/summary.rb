# frozen_string_literal: true

require "json"
require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # Durations, counted in buckets that grow with the duration: percentiles of any number of them in a few kilobytes, each
      # at most 1/{STEPS} too high. The highest is exact.
      class Histogram
        # Buckets between a duration and its double: more of them make percentiles more exact.
        STEPS = 32
        # Seconds; a shorter duration counts as this.
        SHORTEST = 1e-6

        attr_reader :count
        # @return [Float, nil] seconds
        attr_reader :max

        def initialize
          @counts = Hash.new(0)
          @count = 0
        end

        def add(seconds)
          @counts[bucket(seconds)] += 1
          @count += 1
          @max = seconds if @max.nil? || seconds > @max
        end

        # @param share [Numeric] from 0 to 1: 0.9 is the 90th percentile
        # @return [Float, nil] seconds that this share of the durations does not exceed; nil when there is none
        def quantile(share)
          return if @count.zero?

          left = [(share * @count).ceil, 1].max
          index, = @counts.sort.find { |_, count| (left -= count) <= 0 }
          [ceiling(index), @max].min
        end

        private

        def bucket(seconds) = (Math.log2([seconds / SHORTEST, 1.0].max) * STEPS).floor

        def ceiling(index) = SHORTEST * (2**((index + 1.0) / STEPS))
      end

      # The results of a run, in numbers.
      class Tally
        # @return [Integer] lines with a success, and with a failure
        attr_reader :ok, :failed
        # @return [Integer] bytes of bodies
        attr_reader :bytes
        # @return [Integer] requests made again
        attr_reader :again
        # @return [Hash{Integer => Integer}] answers by status
        attr_reader :statuses
        # @return [Hash{String => Integer}] failures by kind
        attr_reader :errors
        # @return [Histogram] from the beginning of a request to the end of its answer
        attr_reader :latency

        def initialize
          @ok = @failed = @bytes = @again = 0
          @statuses = Hash.new(0)
          @errors = Hash.new(0)
          @latency = Histogram.new
        end

        def add(result)
          result.ok? ? @ok += 1 : fail_with(result.kind)
          @bytes += result.bytes
          @again += [result.attempts - 1, 0].max
          return unless result.status

          @statuses[result.status] += 1
          @latency.add(result.seconds)
        end

        def total = @ok + @failed

        private

        def fail_with(kind)
          @failed += 1
          @errors[kind] += 1
        end
      end

      # The numbers of a run that is over: for people, and as JSON for a program.
      class Summary
        PERCENTILES = { "p50" => 0.5, "p90" => 0.9, "p99" => 0.99 }.freeze
        SCHEMA = 1

        # @param tally [Tally] of this run
        # @param seconds [Float] that it took
        def initialize(tally, book, seconds, interrupted:)
          @tally = tally
          @book = book
          @seconds = seconds
          @interrupted = interrupted
        end

        # @return [Array<String>]
        def lines = [totals, latency, errors, *before].compact

        # @return [String] JSON and a line break
        def to_json(*)
          "#{JSON.generate(schema: SCHEMA, ok: @tally.ok, failed: @tally.failed, before: before_counts,
                           retries: @tally.again, bytes: @tally.bytes,
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
