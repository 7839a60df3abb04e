# frozen_string_literal: true

require_relative "../row"
require_relative "../scalability"
require_relative "markup"
require_relative "scale"

module Plait
  module Lab
    class HtmlReport
      # Items per second against the limit, where rows differ in nothing else, and the fitted law of scalability.
      class Curve
        include Markup

        HEIGHT = 260
        # Points of a fitted curve between the least and the largest limit.
        STEPS = 24
        # Percent of the width: marks nearer to each other would touch on a phone.
        TIGHT = 7
        LAW = "A dashed curve is the Universal Scalability Law, fitted to the medians."

        # @param rows [Array<Hash>] records of measured rows that do the same work
        # @param unit [String] what an item is, in the plural
        def initialize(rows, unit)
          @unit = unit
          rows = rows.select { |row| row[:items_per_s] }
          @all = rows.reject { |row| sequence?(row) }
          swept = @all.select { |row| limit(row) }.group_by { |row| row[:series] }.values.select { |line| line.size > 1 }.flatten
          @rows = [*(rows - @all if swept.any?), *swept].sort_by { |row| limit(row) }
        end

        # @return [Boolean] each row is one of a line: it shows more than their times do
        def whole? = @rows.any? && (@all - @rows).empty?

        # @return [String, nil] nil where nothing has more than one limit
        def to_html
          return if @rows.empty?

          parts = [element(:h4, "Throughput against the limit"), legend(colours), svg, element(:figcaption, text(caption))]
          element(:figure, parts.join)
        end

        private

        def caption
          ["#{@unit.capitalize} per second (median, and from the least to the most) at each limit of what may be in flight.",
           "Where a line turns flat, a higher limit no longer helps.", *(LAW if fits.any?),
           *("The upright axis is logarithmic." if up.logarithmic?)].join(" ")
        end

        # One after another is a limit of one; a composition may have as many in flight as the product says.
        def limit(row) = sequence?(row) ? 1 : row[:limit] && Array(row[:limit]).reduce(:*)

        def sequence?(row) = row[:on].to_s == "sequence"

        def lines = @lines ||= @rows.group_by { |row| row[:series] }

        # The first line of a mechanism has its colour, further ones have others.
        def colours
          @colours ||= begin
            first = {}
            lines.to_h do |name, rows|
              mechanism = RowRecord.mechanism(rows.first)
              [name, colour((first[mechanism] ||= name) == name ? mechanism : name)]
            end
          end
        end

        def fits
          @fits ||= lines.filter_map do |name, rows|
            points = rows.to_h { |row| [limit(row), row[:items_per_s][:median]] }
            Scalability.of(points)&.then { |law| [name, law] }
          end.to_h
        end

        def svg
          drawn = lines.flat_map { |name, rows| line(rows, colours[name]) } + fits.flat_map { |name, law| curve(name, law) }
          inner = element(:svg, (marks + drawn).join, x: "9%", y: 10, width: "88%", height: HEIGHT, overflow: "visible")
          element(:svg, inner, width: "100%", height: HEIGHT + 50, xmlns: XMLNS, role: "img", aria_label: caption)
        end

        def across = @across ||= Scale.new(@rows.map { |row| limit(row) }) { |mark| Quantity.count(mark) }

        def up
          @up ||= Scale.new(@rows.flat_map { |row| row[:items_per_s].values_at(:min, :max) }) { |mark| Quantity.number(mark) }
        end

        def x(limit) = "#{across.place(limit)}%"

        def y(rate) = (HEIGHT * (1 - (up.place(rate) / 100))).round(1)

        def marks
          limits = apart.flat_map do |limit|
            [stroke(x(limit), 0, x(limit), HEIGHT, INK, opacity: 0.1), label(limit.to_s, x(limit), HEIGHT + 18, "middle")]
          end
          rates = up.marks.flat_map do |place, words|
            height = (HEIGHT * (1 - (place / 100))).round(1)
            [stroke(0, height, "100%", height, INK, opacity: 0.12), label(words, "-0.8%", height + 4, "end")]
          end
          [*limits, *rates, label("limit", "50%", HEIGHT + 36, "middle")]
        end

        # @return [Array<Integer>] limits whose marks don't touch
        def apart
          first, *rest = @rows.map { |row| limit(row) }.uniq
          rest.each_with_object([first]) do |limit, kept|
            kept << limit if across.place(limit) - across.place(kept.last) > TIGHT
          end
        end

        def line(rows, colour)
          joins = rows.each_cons(2).map { |one, other| stroke(*point(one), *point(other), colour, width: 2) }
          spreads = rows.map do |row|
            stroke(x(limit(row)), y(row[:items_per_s][:min]), x(limit(row)), y(row[:items_per_s][:max]), colour)
          end
          dots = rows.map { |row| point(row).then { |cx, cy| element(:circle, cx: cx, cy: cy, r: 4, fill: colour) } }
          joins + spreads + dots
        end

        def point(row) = [x(limit(row)), y(row[:items_per_s][:median])]

        def curve(name, law)
          least, most = lines[name].map { |row| limit(row) }.minmax
          limits = Array.new(STEPS + 1) { |step| least * (most.fdiv(least)**step.fdiv(STEPS)) }
          limits.each_cons(2).map do |one, other|
            stroke(x(one), y(law.throughput(one)), x(other), y(law.throughput(other)), colours[name], dashes: "4 3")
          end
        end

        def stroke(from_x, from_y, to_x, to_y, colour, width: 1, opacity: nil, dashes: nil)
          element(:line, x1: from_x, y1: from_y, x2: to_x, y2: to_y, stroke: colour, stroke_width: width,
                         stroke_opacity: opacity, stroke_dasharray: dashes)
        end

        def label(words, left, top, anchor) = element(:text, text(words), x: left, y: top, text_anchor: anchor, fill: INK)
      end
    end
  end
end
