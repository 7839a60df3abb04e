# frozen_string_literal: true

module Plait
  module Lab
    # A table as data: its cells are text. {TextTable} and {HtmlReport} decide how it looks.
    class Table
      # @param saved [Hash] of {#to_h}; from JSON its Symbols are Strings
      # @return [Table]
      def self.of(saved)
        new(*saved.values_at(:title, :columns, :rows), alignments: saved[:alignments].map(&:to_sym), notes: saved[:notes])
      end

      # @return [String]
      attr_reader :title
      # @return [Array<String>]
      attr_reader :columns
      # @return [Array<Array<String>>] as wide as the columns
      attr_reader :rows
      # @return [Array<Symbol>] :left or :right, one per column
      attr_reader :alignments
      # @return [Array<String>] sentences that belong under the table
      attr_reader :notes

      # @param alignments [Array<Symbol>, nil] nil: the first column left, the others right
      def initialize(title, columns, rows, alignments: nil, notes: [])
        @title = title
        @columns = columns
        @rows = rows
        @alignments = alignments || columns.each_index.map { |index| index.zero? ? :left : :right }
        @notes = notes
      end

      # @return [Boolean]
      def empty? = @rows.empty?

      # @return [Hash] see {.of}
      def to_h = { title: @title, columns: @columns, rows: @rows, alignments: @alignments, notes: @notes }
    end
  end
end
