# frozen_string_literal: true

require_relative "agreement"
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

      # @param report [Hash] a record, see {Report#to_h}
      def initialize(report)
        @report = report
      end

      # @return [Array<Table>] the tables that have rows
      def all = [*(own || per_group), failures, missing].reject(&:empty?)

      # Speed is shown only where the results agree.
      # @return [Hash{String, nil => Array<Hash>}] records of rows by group
      def groups
        differing = @report[:mismatches].map { |mismatch| mismatch[:group] }
        rows.select { |row| row[:n].positive? && !differing.include?(row[:group]) }.group_by { |row| row[:group] }
      end

      # @return [Array<String>] a sentence for each mechanism whose results differ
      def mismatches = @report[:mismatches].map { |found| Mismatch.new(**found.slice(*Mismatch.members)).to_s }

      # @return [Array<String>] what a reader must know first
      def warnings
        found = [("the results differ, so nothing is said about speed" if @report[:mismatches].any?),
                 ("it was interrupted: this is what had been measured until then" if @report[:interrupted]),
                 @report[:error]&.then { |error| "it ended early: #{error}" }].compact
        found.map { |warning| "#{workload[:title]}: #{warning}" }
      end

      private

      def rows = @report[:rows]

      def workload = @report[:workload]

      def own = @report[:tables]&.map { |saved| Table.of(saved) }

      def per_group = groups.flat_map { |group, rows| [speed(group, rows), latency(group, rows), memory(group, rows)] }

      def title(what, group) = [workload[:title], group, what].compact.join(": ")

      def speed(group, rows)
        peaks = PEAKS.slice(*rows.map { |row| row[:peak_source]&.to_sym })
        columns = (SPEED - (PEAKS.values - peaks.values)).map { |column| column.sub("%s", workload[:unit]) }
        lines = rows.map { |row| speed_row(row, peaks.keys) }
        Table.new(title("time", group), columns, lines, notes: lines.any? { |line| line.last.end_with?(OPEN) } ? [OPEN_NOTE] : [])
      end

      def speed_row(row, peaks)
        wall = row[:wall_s]
        spread = wall[:n] > 1 ? "#{Quantity.seconds(wall[:min])} – #{Quantity.seconds(wall[:max])}" : Quantity::UNKNOWN
        [row[:label], Quantity.seconds(wall[:median]), spread, wall[:n].to_s, Quantity.number(row.dig(:items_per_s, :median)),
         Quantity.seconds(row.dig(:cpu_s, :median)), *peaks.map { |source| peak(row, source) }, compared(row)]
      end

      def peak(row, source) = Quantity.bytes((row.dig(:peak_bytes, :median) if row[:peak_source]&.to_sym == source))

      def compared(row)
        return Quantity::UNKNOWN unless row[:comparable]
        return row[:best] ? "fastest" : "#{Quantity.times(1.0)}#{OPEN}" if row[:fastest]

        times = Quantity.times(row[:ratio])
        { same: "same (#{times})", unsettled: "#{times}#{OPEN}" }.fetch(row[:answer]&.to_sym, times)
      end

      def latency(group, rows)
        timed = rows.select { |row| row[:latency_s] }
        Table.new(title("time of one item", group), LATENCY, timed.map { |row| latency_row(row) })
      end

      def latency_row(row)
        [row[:label], *row[:latency_s].values_at(:p50, :p90, :p99, :max).map { |time| Quantity.seconds(time) }]
      end

      def memory(group, rows)
        counted = rows.select { |row| row[:allocated_per_item] }
        Table.new(title("allocated per item", group), MEMORY, counted.map { |row| memory_row(row) }, notes: memory_notes(rows))
      end

      def memory_row(row)
        counted = row[:allocated_per_item]
        [row[:label], Quantity.bytes(counted[:bytes]), *numbers(counted, :objects, :strings),
         Quantity.bytes(counted[:retained_bytes]), *numbers(counted, :retained_objects, :retained_strings),
         counted[:items].to_s, Quantity.number(row.dig(:gc_runs, :median))]
      end

      def numbers(counted, *names) = names.map { |name| Quantity.number(counted[name]) }

      def memory_notes(rows)
        scopes = rows.filter_map { |row| row.dig(:allocated_per_item, :scope)&.then { |scope| [row[:label], scope] } }
        absent = rows.filter_map { |row| row[:not_counted]&.then { |why| [row[:label], why] } }
        (scopes + absent).group_by(&:last).map { |text, entries| "#{entries.map(&:first).join(", ")}: #{text}" }
      end

      # Items whose errors were collected or skipped: their rows are measured like the others.
      def failures
        lines = rows.select { |row| row[:errors].positive? }.map do |row|
          [row[:label], "#{Quantity.count(row[:errors])} of #{Quantity.count(row[:items])}", row[:first_error].to_s]
        end
        Table.new(title("items that failed", nil), ["", "failed", "the first"], lines, alignments: %i[left right left])
      end

      def missing
        lines = rows.select { |row| row[:failure] }.map { |row| row.values_at(:label, :failure) } + unreached + uncounted
        Table.new(title("not measured, or not in every round", nil), ["", "why"], lines, alignments: %i[left left])
      end

      # Rows that an interrupt, or an error, has left without a trial.
      def unreached
        return [] if rows.none? { |row| row[:n].positive? }

        rows.select { |row| row[:samples].empty? }.map { |row| [row[:label], "the run ended before its first trial"] }
      end

      # Where the table of allocations has rows, the reasons for the missing rows are its notes. A reason that many rows share,
      # such as a lack of time, is named once.
      def uncounted
        left = groups.each_value.reject { |group| group.any? { |row| row[:allocated_per_item] } }.flatten
        left.select { |row| row[:not_counted] }.group_by { |row| row[:not_counted] }.map { |why, sharing| [names(sharing), why] }
      end

      def names(rows) = rows.size > FEW ? "#{rows.size} rows" : rows.map { |row| row[:label] }.join(", ")
    end

    private_constant :Tables
  end
end
