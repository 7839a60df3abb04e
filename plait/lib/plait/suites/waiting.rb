# frozen_string_literal: true

require_relative "../lab"

module Plait
  module Suites
    # Three functions that wait: their sum one after another, the longest alone as soon as they wait together.
    class Waiting < Suite
      PLACE = 10
      NAME = "waiting"
      TITLE = "Waiting"
      SUMMARY = "three functions that sleep 3, 2 and 5 s: 10 s one after another, 5 s under anything concurrent"
      BRIEF = { scale: 0.02 }.freeze
      # Seconds of it.
      BRIEF_BUDGET = 20.0
      # Seconds: seven rows of 10 and 5 s are settled after nine rounds.
      BUDGET = 420.0

      SECONDS = [3, 2, 5].freeze
      MECHANISMS = [:sequence, :threads, :fibers, :hybrid, :processes, :ractors, %i[processes threads]].freeze
      # Sleeping is the same at any length: the passes that are not timed need not take as long.
      SHORT = [0.001, 0.001, 0.001].freeze

      # A constant of a module: a ractor may only run a block whose self it can share.
      SLEEP = lambda do |seconds|
        sleep(seconds)
        seconds
      end

      private

      def build(scale: 1.0, on: nil, **)
        check_scale(scale)
        items = SECONDS.map { |seconds| (seconds * scale).round(9) }
        cells = Lab::Cell.each_of(MECHANISMS, nil, items: items, body: SLEEP, warmup_items: SHORT, memory_items: SHORT)
        [Lab::Workload.new(name: NAME, title: title_for(items), work: "waits: #{items.size} sleeps", unit: "functions",
                           description: describe(items), cells: only(cells, on))]
      end

      def title_for(items) = "Waiting: three functions that sleep #{items.map { |s| format("%g", s) }.join(", ")} s"

      def describe(items) = format("%g s one after another, %g s under anything concurrent", items.sum, items.max)
    end
  end
end
