# frozen_string_literal: true

require "json"
require "plait/cli/progress_bar"

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
          @counts[(Math.log2([seconds / SHORTEST, 1.0].max) * STEPS).floor] += 1
          @count += 1
          @max = seconds if @max.nil? || seconds > @max
        end

        # @param share [Numeric] from 0 to 1: 0.9 is the 90th percentile
        # @return [Float, nil] seconds that this share of the durations does not exceed; nil when there is none
        def quantile(share)
          return if @count.zero?

          left = [(share * @count).ceil, 1].max
          index, = @counts.sort.find { |_, count| (left -= count) <= 0 }
          [SHORTEST * (2**((index + 1.0) / STEPS)), @max].min
        end
      end

      # The results of a run, in numbers.
      class Tally
        # @return [Integer] lines with a success, lines with a failure, bytes of bodies, requests made again
        attr_reader :ok, :failed, :bytes, :again
        # @return [Hash] answers by status, failures by kind
        attr_reader :statuses, :errors
        # @return [Histogram] from the beginning of a request to the end of its answer
        attr_reader :latency

        def initialize
          @ok = @failed = @bytes = @again = 0
          @statuses = Hash.new(0)
          @errors = Hash.new(0)
          @latency = Histogram.new
        end

        def add(result)
          result.ok? ? @ok += 1 : @failed += 1
          @errors[result.kind] += 1 unless result.ok?
          @bytes += result.bytes
          @again += [result.attempts - 1, 0].max
          return unless result.status

          @statuses[result.status] += 1
          @latency.add(result.seconds)
        end
      end

      # The state of a run, for people: a bar on a terminal, else a line now and then. Two threads use it.
      class Display
        # Seconds between two redraws.
        REFRESH = 0.1
        # Seconds before the first line where nothing can be redrawn: a short run needs none.
        FIRST_LINE = 2.0
        # Seconds over which the rate is taken: more of them smooth it.
        SPAN = 10.0

        # @param silent [Boolean] show nothing, since records go to the same screen
        def initialize(terminal, source, book, tally, silent: false)
          @terminal = terminal
          @source = source
          @book = book
          @tally = tally
          @display = terminal.interactive? ? ProgressBar.new(terminal) : ProgressLines.new(terminal, of: "URLs")
          @lock = Mutex.new
          @samples = [[Deadline.now, book.size]]
          first = terminal.interactive? ? REFRESH : FIRST_LINE
          @due = silent ? Float::INFINITY : Deadline.now + first
        end

        def refresh
          now = Deadline.now
          return if now < @due

          @lock.synchronize do
            @due = now + REFRESH
            @samples << [now, @book.size]
            @samples.shift while @samples.size > 2 && @samples[1][0] < now - SPAN
            @display.show(done: @book.size, total: total, left: left, what: what)
          end
        end

        # Clears the line for the block, which prints something.
        def aside
          @lock.synchronize do
            @display.clear
            yield
          end
        end

        def stop = @lock.synchronize { @display.clear }

        # @return [Float] lines in a second, of late
        def rate
          (began, first), (now, last) = @samples.values_at(0, -1)
          now > began ? (last - first) / (now - began) : 0.0
        end

        private

        # The length of a pipe is unknown: the lines read until now stand for it.
        def total = [@source.total || @source.taken, @book.size, 1].max

        def left = @source.total && rate.positive? ? (total - @book.size) / rate : nil

        def what
          errors = @tally.failed
          text = "#{format(rate < 10 ? "%.1f" : "%.0f", rate)}/s, #{errors} #{errors == 1 ? "error" : "errors"}"
          @source.total ? text : "#{text}, more may come"
        end
      end

      # The numbers of a run that is over: for people, and as JSON for a program.
      class Summary
        PERCENTILES = { "p50" => 0.5, "p90" => 0.9, "p99" => 0.99 }.freeze
        SCHEMA = 1

        def initialize(tally, book, seconds, interrupted:)
          @tally = tally
          @book = book
          @seconds = seconds
          @interrupted = interrupted
        end

        def lines = [totals, latency, errors, *before].compact

        # @return [String] JSON and a line break
        def to_json(*)
          before = { ok: @book.before - @book.before_failed, failed: @book.before_failed }
          "#{JSON.generate(schema: SCHEMA, ok: @tally.ok, failed: @tally.failed, before: before, retries: @tally.again,
                           bytes: @tally.bytes, seconds: @seconds.round(3), per_second: rate.round(1),
                           latency_seconds: percentiles, statuses: sorted(@tally.statuses),
                           errors: sorted(@tally.errors), interrupted: @interrupted)}\n"
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
          "errors: #{sorted(@tally.errors).map { |kind, count| "#{kind} #{number(count)}" }.join(", ")}" if @tally.errors.any?
        end

        def before
          return if @book.before.zero?

          "#{number(@book.before)} were finished before this run, #{number(@book.before_failed)} of them failed"
        end

        # @return [Hash{String => Float}, nil] seconds; nil without an answer
        def percentiles
          histogram = @tally.latency
          return if histogram.count.zero?

          { **PERCENTILES.transform_values { |share| histogram.quantile(share) }, "max" => histogram.max }
            .transform_values { |value| value.round(6) }
        end

        # The most frequent first.
        def sorted(counts) = counts.sort_by { |key, count| [-count, key.to_s] }.to_h

        def rate = @seconds.positive? ? (@tally.ok + @tally.failed) / @seconds : 0.0

        def number(count) = Quantity.count(count)

        def seconds(value) = Quantity.seconds(value)

        def size(bytes)
          return "#{bytes} bytes" if bytes < 1024

          unit, factor = { "KiB" => 1 << 10, "MiB" => 1 << 20, "GiB" => 1 << 30 }.select { |_, least| bytes >= least }.to_a.last
          format("%.1f %s", bytes.fdiv(factor), unit)
        end
      end
    end
  end
end
