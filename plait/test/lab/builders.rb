# frozen_string_literal: true

require "test_helper"
require "plait/lab"

# Small real objects for the tests of the lab.
module LabBuilders
  Lab = Plait::Lab

  def cell(on = :sequence, items: [1, 2, 3], limit: nil, body: ->(item) { item * 2 }, **rest)
    Lab::Cell.new(on: on, items: items, limit: limit, body: body, **rest)
  end

  def outcome(index, value = nil, error: nil, started_at: 0.0, finished_at: 1.0, worker: 0)
    Plait::Outcome.new(index: index, item: index, value: value, error: error, started_at: started_at,
                       finished_at: finished_at, worker: worker)
  end

  def digest_of(*values, custom: nil)
    Lab::ResultDigest.new(values.each_with_index.map { |value, index| outcome(index, value) }, custom)
  end

  def timeline(bars = [[0, 0.0, 0.5, 1], [1, 0.25, 1.0, 1]], **rest)
    Lab.const_get(:Meters)::Timeline::Record.new(bars: bars, slots: 2, workers: 2, items_per_bar: 1, **rest)
  end

  def measurement(wall, cpu: wall / 10, results: digest_of(2, 4, 6), **rest)
    Lab::Measurement.new(label: "x", items: 3, wall: wall, cpu: cpu, latencies: [wall / 3] * 3, timeline: timeline,
                         errors: 0, gc_runs: 1, gc_time: 0.001, objects: 30, peak: 1_000_000, peak_source: :resident,
                         results: results, **rest)
  end

  def allocations(**rest)
    Lab::Allocations.new(items: 3, bytes: 1234.0, objects: 12.5, strings: 4.0, retained_bytes: 40.0,
                         retained_objects: 1.0, retained_strings: 0.0, **rest)
  end

  # @param walls [Array<Float>] one measured trial each
  def row(on, *walls, memory: allocations, limit: nil, group: nil, cpu: nil, results: digest_of(2, 4, 6), **rest)
    trials = walls.map { |wall| measurement(wall, cpu: cpu || (wall / 10), results: results) }
    Lab::Row.new(cell(on, limit: limit, group: group, **rest), trials, memory)
  end

  def report(*rows, title: "sleeping", **rest)
    workload = Lab::Workload.new(name: "sleep", title: title, unit: "naps", cells: rows.map(&:cell))
    Lab::Report.new(workload: workload, rows: rows, seed: 7, rounds: 3, rounds_done: 3, **rest)
  end
end
