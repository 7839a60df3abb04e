# frozen_string_literal: true

require "plait"
require_relative "workloads"

module Labelled
  # Runs each workload's items over and over on: :auto, and on the best fixed rows, in turn. Auto is the slower the longer it
  # takes to choose, so the seconds matter.
  class Auto
    # Items in flight at least where they wait: the limit of the label is that of its few items.
    WIDE = 256
    # Part of the seconds that a run must take at least to tell how many items there are to be.
    SHORT = 15.0
    # Threads that share memory would be wrong here, and fast: auto does not compare results.
    UNSAFE = %w[not_thread_safe].freeze
    # Items at most: their list is in memory.
    MOST = 2_000_000

    # @param seconds [Numeric] that the best row of the label takes
    # @param only [Array<String>] names; none: all
    def initialize(seconds:, only: [])
      @seconds = seconds
      @workloads = Labelled.all.select { |one| one.best && (only.empty? || only.include?(one.name)) }
    end

    # Each in a process of its own: what one leaves in memory would slow the forks of the next.
    # @return [Boolean] auto takes at most 1.10 × the best on each, and 1.03 × in the median
    def call
      ratios = @workloads.map { |one| Plait.run(on: :processes) { |scope| scope.async { judge(one) }.value } }.sort
      puts(format("auto ÷ best fixed row: %.3f in the median, %.3f at most", ratios[ratios.size / 2], ratios.last))
      ratios[ratios.size / 2] <= 1.03 && ratios.last <= 1.10
    end

    private

    # @return [Float] seconds of auto ÷ seconds of the fastest fixed row
    def judge(one)
      items = items_for(one)
      rows = fixed(one).to_h { |row| [row, seconds(one, items, *row)] }
      best, least = rows.min_by(&:last)
      ratio = seconds(one, items, :auto, most(one), among: among(one)) / least
      puts(format("%-16s %8d items, best %-20s %6.2f s, auto %.3f ×, %s", one.name, items.size, best.compact.join(" "), least,
                  ratio, Plait.last_decision))
      ratio
    end

    # So many that the fastest row takes the seconds; a short run tells little of a wide one.
    def items_for(one)
      count = one.items.size
      until (pass = fastest(one, count)) >= @seconds / SHORT || count >= MOST
        count = (count * (@seconds / SHORT / pass).clamp(1.5, 20)).ceil
      end
      list(one, count * @seconds / pass)
    end

    def fastest(one, count) = fixed(one).map { |row| seconds(one, list(one, count), *row) }.min

    def list(one, count) = one.items.cycle.first(count.ceil.clamp(one.items.size, MOST))

    # Where items wait, as many may be in flight as on: :auto may have.
    def fixed(one)
      on, limit = one.best
      return [[on, limit]] unless WAITERS.include?(on) && (limit > PROCESSORS || one.right.include?(:fibers))

      [on, *(:fibers if one.right.include?(:fibers))].uniq.map { |waiter| [waiter, most(one)] }
    end

    # @return [Integer] the limit of auto: that of the row beside it
    def most(one) = one.best.first == :processes ? one.best.last : [WIDE, one.best.last.to_i].max

    # Those that share memory, where that is right, and what the label names.
    def among(one) = (UNSAFE.include?(one.name) ? %i[sequence] : %i[sequence threads fibers hybrid]) | [one.best.first]

    # Results are dropped: some are large.
    def seconds(one, items, on, limit, **options)
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Plait.each_result(items, on: on, limit: limit, **options, &one.body).each { |outcome| outcome }
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
    end
  end
end
