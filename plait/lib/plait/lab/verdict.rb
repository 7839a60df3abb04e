# frozen_string_literal: true

require_relative "../values/quantity"
require_relative "row"

module Plait
  module Lab
    # Says in a few plain sentences what the figures of one report show.
    class Verdict
      # Shares of the time that count as waiting above, and as computing below.
      MOSTLY_WAITING = 0.8
      MOSTLY_COMPUTING = 0.2
      # Share of the time: more waiting for a processor is mentioned.
      BUSY = 0.1
      SETTLES_NOTHING = "so few rounds settle nothing"
      private_constant :MOSTLY_WAITING, :MOSTLY_COMPUTING, :BUSY, :SETTLES_NOTHING

      def initialize(report)
        @report = report
      end

      # @return [Array<String>]
      def sentences
        return @report.mismatches.map(&:to_s) if @report.mismatch?

        @report.workload.verdict(ranked) || ranked.group_by(&:group).flat_map { |group, rows| group_sentences(group, rows) }
      end

      private

      def ranked = @report.rows.select(&:fastest)

      def group_sentences(group, rows)
        sentences = [order(rows), nature(rows), blocked_loop(rows), company(rows)].compact
        group ? sentences.map { |sentence| "#{group}: #{sentence}" } : sentences
      end

      def order(rows)
        return alone(rows.first) if rows.size == 1

        best = rows.find(&:fastest?)
        return "#{best.label} is fastest so far, #{time(best)}: #{SETTLES_NOTHING}." unless best.judgement.best

        [leading(best, rows), following(rows), unsettled(rows)].compact.join("; ").concat(".")
      end

      def alone(row) = "#{row.label} takes #{time(row)}; there is nothing to compare it with."

      def leading(best, rows)
        equals = rows.select { |row| row.answer == :same }
        return "#{best.label} is fastest: #{time(best)}" if equals.empty?

        "#{best.label} is the simplest of the fastest: #{time(best)}; #{list(equals)} #{equals.one? ? "takes" : "take"} the same"
      end

      def following(rows)
        slower = rows.select { |row| row.answer == :slower }.sort_by(&:ratio)
        return if slower.empty?
        return "#{slower.first.label} takes #{time_and_ratio(slower.first)}" if slower.one?

        "#{slower.size} rows take from #{time_and_ratio(slower.first)} to #{time_and_ratio(slower.last)}, the slowest being " \
          "#{slower.last.label}"
      end

      def unsettled(rows)
        open = rows.select { |row| row.answer == :unsettled }
        "not settled: #{open.map { |row| "#{row.label} #{Quantity.times(row.ratio)}" }.join(", ")}" if open.any?
      end

      def time(row) = Quantity.seconds(row.wall.median)

      def time_and_ratio(row) = "#{time(row)} (#{Quantity.times(row.ratio)})"

      def list(rows)
        *all, last = rows.map(&:label)
        all.empty? ? last : "#{all.join(", ")} and #{last}"
      end

      # Read off the row that runs one item after another: only there does waiting differ from overlapping.
      def nature(rows)
        reference = rows.find { |row| row.on == :sequence } or return
        share = reference.waiting_share or return
        "One after another, the work waits #{Quantity.percent(share)} of the time#{consequence(share, rows)}."
      end

      def consequence(share, rows)
        return waiting_helps(rows) if share >= MOSTLY_WAITING
        return computing_helps(rows) if share <= MOSTLY_COMPUTING

        ", so both overlapping the waits and more processors can help"
      end

      def waiting_helps(rows)
        rows.any? { |row| row.on != :sequence && row.fastest? } ? ", so what overlaps the waits helps" : ""
      end

      def computing_helps(rows)
        parallel = rows.select { |row| row.cpu.median > row.wall.median * 1.3 }
        return ", the rest is computing" if parallel.empty?

        ", the rest is computing; #{list(parallel)} kept more than one processor at work"
      end

      # Waits that threads overlap and fibers don't are in a call that blocks the event loop. Where the work computes, threads
      # win by processors: C that computes without the GVL.
      def blocked_loop(rows)
        reference, threads, fibers = %i[sequence threads fibers].map { |name| quickest(rows, name) }
        return unless reference && threads && fibers && waits?(rows)
        return unless threads < reference / 2 && fibers > reference * 0.8

        "Threads overlap the waits and fibers don't: something in the work blocks the event loop. Wrapping that call " \
          "in Plait.offload, or on: :hybrid, may help."
      end

      def waits?(rows)
        share = rows.find { |row| row.on == :sequence }.waiting_share
        share.nil? || share > MOSTLY_COMPUTING
      end

      # @return [Float, nil] seconds
      def quickest(rows, name)
        rows.select { |row| row.on == name }.map { |row| row.wall.median }.min
      end

      # Other programs' work on the same processors.
      def company(rows)
        share = rows.select { |row| Row::ONE_THREAD.include?(row.on) }.filter_map(&:delayed_share).max
        return if share.nil? || share < BUSY

        "The machine was busy with other things: up to #{Quantity.percent(share)} of a row's time went by in waiting " \
          "for a processor, so smaller differences are not settled."
      end
    end

    private_constant :Verdict
  end
end
