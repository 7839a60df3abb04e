# frozen_string_literal: true

require_relative "../mechanisms"
require_relative "../mechanisms/coordinator"
require_relative "../mechanisms/options"

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
      # @param tables [Proc, nil] takes the measured rows that agree, and makes tables in the place of the lab's
      # @raise [UsageError] without cells, or when two cells have the same label
      def initialize(name:, cells:, title: name, work: title, description: nil, unit: "items", around: nil, notes: [],
                     tables: nil)
        @name = Text.clean(name)
        @title = Text.clean(title)
        @work = Text.clean(work)
        @description = description && Text.clean(description)
        @unit = Text.clean(unit)
        @cells = check_cells(cells)
        @around = around
        @tables = tables
        @notes = notes.map { |note| Text.clean(note) }
      end

      # @param rows [Array<Row>] the measured rows that agree
      # @return [Array<Table>, nil] nil: the lab's
      def tables(rows) = @tables&.call(rows)

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

        raise UsageError, "workload #{@name.inspect} has two cells called #{twice.first.inspect}: give each a label of its own"
      end
    end

    # One row to measure: a body and its items under one mechanism at one limit.
    class Cell
      # A warm-up pass runs this part of the items, as its divisor; raising it shortens the pass.
      WARM_UP_SHARE = 10
      # Items of a warm-up pass at most.
      WARM_UP_MOST = 20
      # Items in flight where nothing is said, under each mechanism: a larger limit would look like a better mechanism.
      LIMIT = 16
      private_constant :WARM_UP_SHARE, :WARM_UP_MOST, :LIMIT

      # The rows of one body: each mechanism at each limit, and one after another once.
      # @param mechanisms [Array<Symbol, Array<Symbol>>]
      # @param limits [Array<Integer>, nil] nil: 16, or the number of items if that is less
      # @param items [Array]
      # @param rest [Hash] see {#initialize}
      # @return [Array<Cell>]
      def self.each_of(mechanisms, limits, items:, **rest)
        limits ||= [[LIMIT, items.size].min.clamp(1..)]
        mechanisms.flat_map do |on|
          (on == :sequence ? [1] : limits.uniq).map { |limit| new(on: on, limit: limit, items: items, **rest) }
        end
      end

      # @param source [#to_a] of items
      # @return [Array] the same items for every trial
      # @raise [UsageError] where there are none, or no end of them
      def self.finite(source)
        if source.respond_to?(:size) && source.size == Float::INFINITY
          raise UsageError, "an endless source can't be measured: give each mechanism the same items, as in source.first(100)"
        end

        items = source.to_a if source.respond_to?(:to_a)
        return items unless items.nil? || items.empty?

        raise UsageError, "the items must be an Array, or become one, with at least one item; these are #{source.inspect[0, 80]}"
      end

      # @return [String] what the row is called, "fibers (limit 64)"
      attr_reader :label
      # @return [Symbol, Array<Symbol>] the mechanism, or the two that are composed
      attr_reader :on
      # @return [Integer, Array<Integer>, nil] how many items may be in flight; nil: the mechanism's own default
      attr_reader :limit
      # @return [Array]
      attr_reader :items
      # @return [Proc] item => value
      attr_reader :body
      # @return [Hash] further options of {Plait.map}
      attr_reader :options
      # @return [Proc, nil] results => a String that is equal when the results are; nil: their contents
      attr_reader :digest
      # @return [String, nil] rows of one group do the same work: their results must agree, and they are compared
      attr_reader :group
      # @return [Array, nil] what a warm-up pass runs; nil: the first tenth of the items, at least one, at most 20
      attr_reader :warmup_items
      # @return [Array, nil] what the memory pass runs; nil: as many of the first items as take two seconds, at most 50
      attr_reader :memory_items
      # @return [#call, nil] runs the trials somewhere else, on another Ruby say: (cell, warmup:, bound:) => Measurement
      attr_reader :runner

      # @param on [Symbol, Array<Symbol>]
      # @param items [Array]
      # @param body [Proc] item => value
      # @raise [UsageError] when an argument can't be measured
      def initialize(on:, items:, body:, label: nil, limit: nil, options: {}, digest: nil, group: nil,
                     warmup_items: nil, memory_items: nil, runner: nil, choice: true)
        @on = on
        @limit = check_limit(limit)
        @label = Text.shorten(Text.clean(label || default_label))
        @items = check_items(items)
        @body = check_body(body)
        @options = options
        @digest = digest
        @group = group && Text.clean(group).then { |name| name unless name.empty? }
        @warmup_items = warmup_items
        @memory_items = memory_items
        @runner = runner
        @choice = choice
      end

      # @return [Boolean] whether it may be the answer; a row that shows what is possible at all may not
      def choice? = @choice

      # @return [Array<Symbol>] the mechanisms, outermost first
      def mechanisms = Array(@on)

      # @return [String] what rows that differ in their limit alone have in common: "fibers + keep-alive"
      def series = @label.delete_suffix(limit_in_words)

      # @return [Boolean] the work runs in processes of its own
      def processes? = mechanisms.include?(:processes)

      # @return [String] "processes × fibers"
      def mechanism_name = mechanisms.join(" × ")

      # One pass of the body over items, exactly as {Plait.each_result} makes it. The face itself can't be required here: it
      # loads the lab on demand.
      # @param items [Array]
      # @return [Array<Outcome>] in input order; items that the options skip are missing
      # @raise [Exception] the first failure, unless the options say otherwise
      def run(items = @items)
        outcomes = Array.new(items.size)
        Coordinator.new(Mechanisms.fetch(@on), items, map_options, @body)
                   .each { |outcome| outcomes[outcome.index] = outcome }
        outcomes.compact
      end

      # Runs a part of the work before it is measured: code is loaded, caches and pools are filled.
      # @param passes [Integer] 0 for none
      def warm_up(passes)
        chosen = @warmup_items || @items.first((@items.size / WARM_UP_SHARE).clamp(1, WARM_UP_MOST))
        passes.times { run(chosen) } unless chosen.empty?
      end

      private

      # Progress is the session's business: a bar of the user's own would be drawn by every trial.
      def map_options = Mechanisms::Options.new(limit: @limit, **@options.except(:progress))

      def default_label = "#{mechanism_name}#{limit_in_words}"

      # One after another has no limit but one.
      def limit_in_words = @limit && @on != :sequence ? " (limit #{Array(@limit).join(" × ")})" : ""

      def check_limit(limit)
        return limit if limit.nil? || Array(limit).all? { |number| number.is_a?(Integer) && number.positive? }

        raise UsageError, "the limit of a cell is a whole number from 1 up, not #{limit.inspect}"
      end

      def check_items(items)
        return items if items.is_a?(Array) && !items.empty?

        raise UsageError, "cell #{@label.inspect} needs an Array with at least one item, not #{items.class}" \
                          "#{" (empty)" if items.is_a?(Array)}"
      end

      def check_body(body)
        return body if body.respond_to?(:call)

        raise UsageError, "cell #{@label.inspect} needs a body: a block or a Proc that takes one item"
      end
    end
  end
end
