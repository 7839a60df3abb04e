# frozen_string_literal: true

require_relative "../values/errors"
require_relative "text"

module Plait
  module Lab
    # Cells that are measured side by side, and the servers that must run around them.
    class Workload
      # @return [String] short, for files and the command line: "waiting"
      attr_reader :name
      # @return [String] for the heading of the report
      attr_reader :title
      # @return [String, nil]
      attr_reader :description
      # @return [String] what the work does, in a few words: "waits: 3 sleeps"
      attr_reader :work
      # @return [String] what an item is, in the plural: "requests"
      attr_reader :unit
      # @return [Array<Cell>]
      attr_reader :cells
      # @return [Array<String>] shown under the tables
      attr_reader :notes

      # @param name [String]
      # @param cells [Array<Cell>]
      # @param around [Proc, nil] is given a block, `->(&block) { … }`: starts what the cells need (an origin in its own
      #   process), calls the block, stops it
      # @raise [UsageError] without cells, or when two cells have the same label
      def initialize(name:, cells:, title: name, work: title, description: nil, unit: "items", around: nil, notes: [])
        @name = Text.clean(name)
        @title = Text.clean(title)
        @work = Text.clean(work)
        @description = description && Text.clean(description)
        @unit = Text.clean(unit)
        @cells = check_cells(cells)
        @around = around
        @notes = notes.map { |note| Text.clean(note) }
      end

      # Tables of a workload's own, in the place of the lab's.
      # @param _rows [Array<Row>] the measured rows that agree
      # @return [Array<Table>, nil] nil: the lab's
      def tables(_rows) = nil

      # Runs the block with everything started that the cells need.
      # @return [Object] what the block returns
      def around(&block)
        return yield unless @around

        value = nil
        @around.call { value = block.call }
        value
      end

      private

      def check_cells(cells)
        raise UsageError, "workload #{@name.inspect} has no cells: there is nothing to measure" if cells.empty?

        twice = cells.map(&:label).tally.find { |_, count| count > 1 }
        return cells unless twice

        raise UsageError, "workload #{@name.inspect} has two cells called #{twice.first.inspect}: give each a label " \
                          "of its own"
      end
    end
  end
end
