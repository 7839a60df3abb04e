# frozen_string_literal: true

require_relative "../row"
require_relative "markup"
require_relative "scale"

module Plait
  module Lab
    class HtmlReport
      # A drawing with a line for each row: its label, marks on a common axis, and the figure in words. A kind has a TITLE and a
      # CAPTION, and says what it shows of a row.
      class Lines
        include Markup

        HEIGHT = 16

        # @param rows [Array<Hash>] records of measured rows that do the same work
        # @param use [String, nil] the label of the row to use
        # @param processors [Integer] of the machine
        def initialize(rows, use: nil, processors: 1)
          @all = rows
          @use = use
          @processors = processors
        end

        # @return [String, nil] nil where no row has what it shows
        def to_html
          return if rows.empty?

          caption = "#{self.class::CAPTION}#{" The axis is logarithmic." if scale.logarithmic?}"
          element(:figure, "#{head}#{legend}#{table}#{element(:figcaption, text(caption))}")
        end

        private

        def head = element(:h4, self.class::TITLE)

        # @return [Array<Hash>] rows that have what it shows
        def rows = @rows ||= @all.select { |row| figure(row) }

        def table
          body = [axis, *rows.map { |row| line(row) }].join("\n")
          element(:table, element(:tbody, body), class: "lines")
        end

        def line(row)
          cells = [element(:th, text(row[:label]), scope: "row"),
                   element(:td, svg(marks(row), height(row))),
                   element(:td, text(words(row)), class: "right")]
          element(:tr, cells.join, class: ("use" if row[:label] == @use))
        end

        def axis
          texts = scale.marks.flat_map do |place, words|
            anchor = { 0.0..4.0 => "start", 96.0..100.0 => "end" }.find { |range, _| range.cover?(place) }&.last || "middle"
            [element(:line, x1: "#{place}%", x2: "#{place}%", y1: 15, y2: 19, stroke: INK, stroke_opacity: 0.5),
             element(:text, text(words), x: "#{place}%", y: 11, text_anchor: anchor, fill: INK)]
          end
          texts << element(:line, x1: 0, x2: "100%", y1: 19, y2: 19, stroke: INK, stroke_opacity: 0.3)
          "<tr><td></td><td class=\"axis\">#{svg(texts, 20)}</td><td></td></tr>"
        end

        # The figures stand beside it as text.
        def svg(elements, height) = element(:svg, elements.join, width: "100%", height: height, xmlns: XMLNS, aria_hidden: true)

        def height(_row) = HEIGHT

        def legend = ""

        def bar(from, to, colour, top: 2, height: HEIGHT - 4, **rest)
          element(:rect, x: "#{from}%", width: "#{(to - from).round(2)}%", y: top, height: height, fill: colour, **rest)
        end

        def dot(place, row) = element(:circle, cx: "#{place}%", cy: HEIGHT / 2, r: 5, fill: colour(row))

        def rule(from, to)
          element(:line, x1: "#{from}%", x2: "#{to}%", y1: HEIGHT / 2, y2: HEIGHT / 2, stroke: INK, stroke_width: 1.5)
        end

        def colour(row) = Markup.colour(RowRecord.mechanism(row))
      end

      # A bar to the median of the rounds, and a line from the least to the most.
      class Bars < Lines
        private

        def scale
          @scale ||= begin
            values = rows.flat_map { |row| figure(row).values_at(:median, :min, :max) }
            Scale.new(values, typical: rows.map { |row| figure(row)[:median] }) { |mark| quantity(mark) }
          end
        end

        def marks(row)
          median, min, max = figure(row).values_at(:median, :min, :max).map { |value| scale.place(value) }
          # On a logarithmic axis, which has no zero, the length of a bar would say nothing.
          [scale.logarithmic? ? dot(median, row) : bar(0, median, colour(row)), rule(min, max)]
        end

        def words(row) = quantity(figure(row)[:median])
      end

      # The time of each row.
      class Time < Bars
        TITLE = "Time for all items"
        CAPTION = "The bar or dot is the median of the rounds; the line goes from the shortest to the longest. Shorter is better."

        private

        def figure(row) = row[:wall_s]

        def quantity(value) = Quantity.seconds(value)
      end

      # The peak memory of each row, by one meter.
      class Memory < Bars
        private

        def figure(row) = row[:peak_source]&.to_sym == self.class::METER ? row[:peak_bytes] : nil

        def quantity(value) = Quantity.bytes(value)
      end

      class Resident < Memory
        METER = :resident
        TITLE = "Peak memory of one process"
        CAPTION = "The most resident memory (RSS) above what the process held when it was forked, as the kernel kept it."
      end

      class Proportional < Memory
        METER = :sampled_processes
        TITLE = "Peak memory of all processes"
        CAPTION = "The sum over all processes of the row, shared pages counted once (PSS), above what one held before the run. " \
                  "Compare it with PSS alone."
      end

      # What the time goes to.
      class Split < Lines
        TITLE = "Where the time goes"
        CAPTION = "Shares of the time of one processor for sequence and fibers, whose one thread does the work; of all " \
                  "processors for the others. The run queue (ready, but no processor is free) is known of one thread " \
                  "alone, GC of the process that runs the mechanism. GVL: the part of its time that a worker waits for Ruby's " \
                  "lock, in one process on Ruby 3.2 or later; the bar has it under waiting."
        # No colour of a mechanism.
        PARTS = { computing: "#4d7c4d", "garbage collection": "#8c4b2f", "run queue": "#d9b72b",
                  "waiting or idle": "#b7bcc4" }.freeze
        # Smaller parts of the time are not worth a word.
        LEAST = 0.005

        private

        def figure(row) = row[:cpu_s] && row[:wall_s][:median].positive?

        def scale = @scale ||= Scale.new([0, 1.0], even: true) { |mark| Quantity.percent(mark) }

        def shares(row)
          one = one_thread?(row)
          total = row[:wall_s][:median] * (one ? 1 : @processors)
          collecting = [row.dig(:gc_time_s, :median).to_f, row[:cpu_s][:median]].min
          parts = [row[:cpu_s][:median] - collecting, collecting, one ? row.dig(:delay_s, :median).to_f : 0.0]
          parts.map { |part| (part / total).clamp(0.0, 1.0) }
        end

        def one_thread?(row) = Row::ONE_THREAD.include?(row[:on].then { |on| on.to_sym unless on.is_a?(Array) })

        def marks(row)
          ends = shares(row).each_with_object([0.0]) { |share, list| list << [list.last + share, 1.0].min } << 1.0
          ends.each_cons(2).zip(PARTS.values).filter_map do |(from, to), colour|
            bar(scale.place(from), scale.place(to), colour) if to - from > 0.001
          end
        end

        def words(row)
          locked = locked(row)
          "#{Quantity.percent(shares(row).first)} computing#{", GVL #{Quantity.percent(locked)}" if locked > LEAST}"
        end

        # @return [Float] 0 where it is unknown
        def locked(row)
          workers = one_thread?(row) ? 1 : [Array(row[:limit]).reduce(1, :*), row[:items]].min
          row.dig(:gvl_wait_s, :median).to_f / (row[:wall_s][:median] * workers)
        end

        def legend = Markup.legend(PARTS)
      end

      # The spread of the times of single items.
      class Latency < Lines
        TITLE = "Time of one item"
        CAPTION = "From its start to its end, all rounds together: the dot is the median, the thick mark the time that 99 " \
                  "of 100 don't exceed, and the line ends at the longest."

        private

        def figure(row) = row[:latency_s]

        def scale
          @scale ||= begin
            times = rows.flat_map { |row| figure(row).values_at(:p50, :max) }
            Scale.new(times) { |mark| Quantity.seconds(mark) }
          end
        end

        def marks(row)
          median, most, far = figure(row).values_at(:p50, :max, :p99).map { |value| value && scale.place(value) }
          mark = far && element(:line, x1: "#{far}%", x2: "#{far}%", y1: 2, y2: HEIGHT - 2, stroke: colour(row), stroke_width: 4)
          [rule(median, most), *mark, dot(median, row)]
        end

        def words(row)
          median, far = figure(row).values_at(:p50, :p99)
          far ? "#{Quantity.seconds(median)}, 99 %: #{Quantity.seconds(far)}" : Quantity.seconds(median)
        end
      end

      # When the workers of one run of each mechanism were busy.
      class Timelines < Lines
        TITLE = "When each worker is busy"
        CAPTION = "One small run of each mechanism, the round nearest to the median: a line for each worker, a bar where it is " \
                  "busy with an item; neighbouring items differ in shade."
        SLOT = 9

        private

        # The section has it already.
        def head = ""

        def figure(row) = row[:bars].any?

        def scale
          @scale ||= begin
            ends = rows.flat_map { |row| row[:bars].map { |bar| bar[2] } }
            Scale.new(ends, even: true) { |mark| Quantity.seconds(mark) }
          end
        end

        def height(row) = row[:slots] * SLOT

        def marks(row)
          row[:bars].group_by(&:first).flat_map do |slot, bars|
            bars.each_with_index.map do |(_, start, finish), place|
              bar(scale.place(start), scale.place(finish), colour(row), top: (slot * SLOT) + 1, height: SLOT - 2,
                                                                        opacity: (0.6 if place.odd?))
            end
          end
        end

        def words(row)
          slots, workers = row.values_at(:slots, :workers)
          drawn = slots < workers ? "#{slots} of #{workers} workers" : "#{workers} worker#{"s" if workers > 1}"
          row[:items_per_bar] > 1 ? "#{drawn}, up to #{row[:items_per_bar]} items a bar" : drawn
        end
      end
    end
  end
end
