# frozen_string_literal: true

require_relative "../values/quantity"
require_relative "table"

module Plait
  module Lab
    # A report as tables of text: speed, latency, memory and what could not be measured.
    class Tables
      # One meter a column: the resident set of one process and the proportional share of several can't be compared.
      PEAKS = { resident: "peak RSS", sampled_processes: "peak PSS of all processes" }.freeze
      SPEED = ["", "time", "min – max", "n", "%s/s", "CPU", *PEAKS.values, "compared"].freeze
      LATENCY = ["", "median", "90 %", "99 %", "longest"].freeze
      MEMORY = ["", "bytes", "objects", "strings", "retained bytes", "retained objects", "retained strings",
                "items counted", "GC runs"].freeze
      # Rows: up to this number a note names them one by one; raising it makes longer notes.
      FEW = 3

      # After a comparison that the rounds don't settle.
      OPEN = " ?"
      OPEN_NOTE = "? not settled: more rounds may change it"
      private_constant :OPEN, :OPEN_NOTE

      def initialize(report)
        @report = report
      end

      # @return [Array<Table>] the tables that have rows
      def all = [*(own || per_group), failures, missing].reject(&:empty?)

      private

      def own = @report.workload.tables(groups.values.flatten)

      def per_group = groups.flat_map { |group, rows| [speed(group, rows), latency(group, rows), memory(group, rows)] }

      # Speed is shown only where the results agree.
      def groups = @report.rows.select { |row| row.measured? && @report.agreed?(row.group) }.group_by(&:group)

      def title(what, group) = [@report.workload.title, group, what].compact.join(": ")

      def speed(group, rows)
        peaks = PEAKS.slice(*rows.map(&:peak_source))
        columns = (SPEED - (PEAKS.values - peaks.values)).map { |column| column.sub("%s", @report.workload.unit) }
        lines = rows.map { |row| speed_row(row, peaks.keys) }
        Table.new(title("time", group), columns, lines, notes: lines.any? { |line| line.last.end_with?(OPEN) } ? [OPEN_NOTE] : [])
      end

      def speed_row(row, peaks)
        wall = row.wall
        spread = wall.n > 1 ? "#{Quantity.seconds(wall.min)} – #{Quantity.seconds(wall.max)}" : Quantity::UNKNOWN
        [row.label, Quantity.seconds(wall.median), spread, wall.n.to_s, Quantity.number(row.rate.median),
         Quantity.seconds(row.cpu.median), *peaks.map { |source| peak(row, source) }, compared(row)]
      end

      def peak(row, source) = Quantity.bytes((row.peak.median if row.peak_source == source))

      def compared(row)
        return Quantity::UNKNOWN unless row.fastest
        return row.judgement.best ? "fastest" : "#{Quantity.times(1.0)}#{OPEN}" if row.fastest?

        times = Quantity.times(row.ratio)
        { same: "same (#{times})", unsettled: "#{times}#{OPEN}" }.fetch(row.answer, times)
      end

      def latency(group, rows)
        timed = rows.select(&:latencies)
        Table.new(title("time of one item", group), LATENCY, timed.map { |row| latency_row(row) })
      end

      def latency_row(row)
        times = row.latencies
        [row.label, *[50, 90, 99, 100].map { |percent| Quantity.seconds(times.percentile(percent)) }]
      end

      def memory(group, rows)
        counted = rows.select(&:allocations)
        Table.new(title("allocated per item", group), MEMORY, counted.map { |row| memory_row(row) }, notes: memory_notes(rows))
      end

      def memory_row(row)
        counted = row.allocations
        numbers = %i[objects strings].map { |name| Quantity.number(counted[name]) }
        retained = %i[retained_objects retained_strings].map { |name| Quantity.number(counted[name]) }
        [row.label, Quantity.bytes(counted.bytes), *numbers, Quantity.bytes(counted.retained_bytes), *retained,
         counted.items.to_s, Quantity.number(row.gc_runs&.median)]
      end

      def memory_notes(rows)
        scopes = rows.filter_map { |row| row.allocations&.scope&.then { |scope| [row.label, scope] } }
        absent = rows.filter_map { |row| row.allocations_missing&.then { |why| [row.label, why] } }
        (scopes + absent).group_by(&:last).map { |text, entries| "#{entries.map(&:first).join(", ")}: #{text}" }
      end

      # Items whose errors were collected or skipped: their rows are measured like the others.
      def failures
        rows = @report.rows.select { |row| row.errors.positive? }.map do |row|
          [row.label, "#{Quantity.count(row.errors)} of #{Quantity.count(row.cell.items.size)}",
           row.measurements.filter_map(&:first_error).first.to_s]
        end
        Table.new(title("items that failed", nil), ["", "failed", "the first"], rows, alignments: %i[left right left])
      end

      def missing
        rows = @report.rows.select(&:failure).map { |row| [row.label, row.failure] } + unreached + uncounted
        Table.new(title("not measured, or not in every round", nil), ["", "why"], rows, alignments: %i[left left])
      end

      # Rows that an interrupt, or an error, has left without a trial.
      def unreached
        return [] if @report.rows.none?(&:measured?)

        @report.rows.select(&:untried?).map { |row| [row.label, "the run ended before its first trial"] }
      end

      # Where the table of allocations has rows, the reasons for the missing rows are its notes. A reason that many rows share,
      # such as a lack of time, is named once.
      def uncounted
        rows = groups.each_value.reject { |group| group.any?(&:allocations) }.flatten.select(&:allocations_missing)
        rows.group_by(&:allocations_missing).map { |why, sharing| [names(sharing), why] }
      end

      def names(rows) = rows.size > FEW ? "#{rows.size} rows" : rows.map(&:label).join(", ")
    end

    private_constant :Tables
  end
end
