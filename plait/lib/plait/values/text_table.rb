# frozen_string_literal: true

module Plait
  # A table as lines of text: columns aligned by their width on the screen. Where the terminal is too narrow, prose
  # in the last column is wrapped, then the least important columns are left out, then the labels are shortened.
  class TextTable
    GAP = 2
    INDENT = 2
    # Prose is read best in lines no longer than this, however wide the terminal.
    WIDEST_PROSE = 110
    # Columns that prose and labels keep, however narrow the terminal.
    NARROWEST_PROSE = 24
    NARROWEST_LABEL = 8

    # Characters that take two columns of a terminal: East Asian scripts and emoji. Combining marks take none.
    WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|
            [\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/x
    COMBINING = /[\p{Mn}\p{Me}\p{Cf}]/

    class << self
      # @param text [String] line breaks in it count as blanks
      # @param width [Integer] columns
      # @return [Array<String>] prose broken into lines
      def wrap(text, width)
        text.split.each_with_object([+""]) do |word, lines|
          lines << +"" if lines.last.size + word.size >= width && !lines.last.empty?
          lines.last << (lines.last.empty? ? word : " #{word}")
        end
      end

      # @return [Integer] columns that it takes on a terminal
      def columns(text) = text.ascii_only? ? text.size : text.size + text.scan(WIDE).size - text.scan(COMBINING).size
    end

    # @return [Array<String>] titles of the columns left out, in their order
    attr_reader :dropped

    # @param columns [Array<String>] titles; the first column names the row and always stays
    # @param alignments [Array<Symbol>] :left or :right; a last column that is :left is prose
    # @param width [Integer, nil] columns of the terminal; nil means as wide as needed
    # @param least [Array<String>] titles of columns in the order in which they may go; others go after them, from
    #   the right
    # @param keep [Array<String>] titles of columns that never go
    def initialize(columns, rows, alignments:, width: nil, least: [], keep: [])
      @columns = columns.map { |title| clean(title) }
      @rows = rows.map { |row| row.map { |cell| clean(cell) } }
      @alignments = alignments
      @width = width || Float::INFINITY
      @widths = natural_widths
      @shown = columns.each_index.to_a
      @keep = keep
      fit(least)
      @dropped = (columns.each_index.to_a - @shown).map { |index| @columns[index] }
    end

    # @return [Array<String>] the titles of the columns, and a line under them
    def head = [line(@columns), (" " * INDENT) + ("─" * (total - INDENT))]

    # @return [Array<Array<String>>] the lines of each row: one, or more where prose is wrapped
    def body = @rows.map { |row| row_lines(row) }

    private

    # Control characters in a label or an error's message must not reach the terminal as commands.
    def clean(cell) = cell.to_s.scrub("?").gsub(/[[:cntrl:]]+/, " ")

    def natural_widths = @columns.each_index.map { |index| [@columns, *@rows].map { |row| display(row[index].to_s) }.max }

    def fit(least)
      shrink(@columns.size - 1, NARROWEST_PROSE, [@width, WIDEST_PROSE].min) if prose?
      leave_out(least) while total > @width && @shown.size > [2, @keep.size + 1].max
      shrink(0, NARROWEST_LABEL, @width)
    end

    def prose? = @columns.size > 1 && @alignments.last == :left

    def shrink(index, narrowest, width)
      excess = total - width
      @widths[index] -= excess.clamp(0, [@widths[index] - narrowest, 0].max)
    end

    def leave_out(least)
      candidates = @shown.drop(1).reject { |index| @keep.include?(@columns[index]) }
      @shown.delete(candidates.min_by { |index| [least.index(@columns[index]) || least.size, -index] })
    end

    def total = INDENT + @shown.sum { |index| @widths[index] } + (GAP * (@shown.size - 1))

    def row_lines(row)
      prose = @shown.last
      return [line(row)] if display(row[prose].to_s) <= @widths[prose] || prose.zero? || @alignments[prose] == :right

      first, *rest = TextTable.wrap(row[prose], @widths[prose])
      margin = " " * (total - @widths[prose])
      [line([*row.first(prose), first]), *rest.map { |text| margin + text }]
    end

    def line(cells) = ((" " * INDENT) + @shown.map { |index| pad(cells[index].to_s, index) }.join(" " * GAP)).rstrip

    def pad(cell, index)
      cell = shorten(cell, @widths[index])
      blank = " " * (@widths[index] - display(cell))
      @alignments[index] == :right ? blank + cell : cell + blank
    end

    def shorten(cell, room)
      return cell if display(cell) <= room

      cell = cell[0...-1] while display(cell) > room - 1
      "#{cell.rstrip}…"
    end

    def display(text) = TextTable.columns(text)
  end
  private_constant :TextTable
end
