# frozen_string_literal: true

require_relative "../mechanisms"
require_relative "../mechanisms/options"
require_relative "../values/errors"
require_relative "cell"
require_relative "workload"

module Plait
  module Lab
    # The workload behind {Plait.compare}: one body, one cell for each mechanism at each limit.
    class Comparison
      # @param items [#to_a] an Array, or what becomes one: every cell runs all of them
      # @param on [Symbol, Array<Symbol, Array<Symbol>>] mechanisms; a pair inside the Array is a composition
      # @param limit [Integer, Array<Integer>, nil] nil: each mechanism's own
      # @param map_options [Hash] further options of {Plait.map}
      # @raise [UsageError]
      # @raise [UnknownMechanism]
      def initialize(items, on:, limit: nil, digest: nil, map_options: {}, &body)
        @items = finite(items)
        @mechanisms = check_mechanisms(on)
        @limits = limit.nil? ? [nil] : Array(limit)
        @digest = digest
        @map_options = check_options(map_options)
        @body = body or raise UsageError, "Plait.compare needs a block: the work that is compared"
      end

      # @return [Workload]
      def workload(name: "compare", title: "comparison", unit: "items", description: nil)
        Workload.new(name: name, title: title, unit: unit, description: description, cells: cells)
      end

      private

      def finite(items)
        size = items.size if items.respond_to?(:size)
        return items.to_a unless size == Float::INFINITY

        raise UsageError,
              "an endless source can't be compared: give each mechanism the same items, as in source.first(100)"
      end

      def check_mechanisms(on)
        mechanisms = Array(on)
        if mechanisms.empty?
          raise UsageError,
                "on: names no mechanism; give one or more, as in on: %i[sequence threads fibers]"
        end

        mechanisms.each { |name| Mechanisms.find(name) }
      end

      # Now, and not in every trial's process.
      def check_options(map_options)
        Mechanisms::Options.new(**map_options)
        map_options
      rescue ArgumentError => e
        raise UsageError, "Plait.compare: #{e.message}"
      end

      def cells = @mechanisms.flat_map { |name| limits_for(name).map { |limit| cell(name, limit) } }

      # One after another has no limit, so more of them would measure the same thing again.
      def limits_for(name)
        return [nil] if name == :sequence

        @limits.map { |limit| limit || Mechanisms.find(name).default_limit }.uniq
      end

      def cell(name, limit)
        Cell.new(on: name, limit: limit, items: @items, body: @body, options: @map_options, digest: @digest)
      end
    end
  end
end
