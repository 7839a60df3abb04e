# frozen_string_literal: true

require_relative "../builders"
require "tmpdir"

class LabTreeMemoryTest < Minitest::Test
  TreeMemory = Plait::Lab.const_get(:Meters)::TreeMemory
  SIZE = 48_000_000

  def setup
    skip("no /proc here") unless TreeMemory.supported?
  end

  # Two children that hold SIZE bytes each, and what they share with their parent is not counted twice.
  def test_the_memory_of_descendants_is_added_up
    Dir.mktmpdir("plait-test-") do |folder|
      meter = seen_after(File.join(folder, "held"), File.join(folder, "seen"))
      process = Plait::Lab.const_get(:FreshProcess).new(bound: 60, sampler: meter)
      process.call { |ready| ready.call and hold_in_two_children(folder) }
      assert_equal(:sampled_processes, meter.figures[:peak_source])
      assert_in_delta(2 * SIZE, meter.figures[:peak], SIZE)
    end
  end

  def test_a_run_too_short_to_be_looked_at_has_no_figure
    meter = TreeMemory.new
    assert_nil(meter.figures[:peak])
    meter.start(Process.pid)
    assert_nil(meter.figures[:peak])
  end

  # With one or two looks the peak lies between them more often than not, and the row said "0 B".
  def test_fewer_than_three_looks_are_no_figure
    meter = TreeMemory.new
    meter.start(Process.pid)
    peaks = Array.new(3) do
      sleep(meter.pause)
      meter.sample
      meter.figures[:peak]
    end
    assert_equal([nil, nil], peaks.first(2))
    assert_operator(peaks.last, :<, 10_000_000, "what was held before does not count")
  end

  private

  # A meter that writes one file when it has looked often enough, and at what the other file announces.
  def seen_after(held, seen)
    TreeMemory.new.tap do |meter|
      meter.define_singleton_method(:sample) do
        announced = File.exist?(held)
        before = samples
        super()
        File.write(seen, "") if announced && samples > before && samples >= TreeMemory::ENOUGH
      end
    end
  end

  def hold_in_two_children(folder)
    held, holding = IO.pipe
    children = Array.new(2) { Process.fork { hold(holding, File.join(folder, "seen")) } }
    held.read(2)
    File.write(File.join(folder, "held"), "")
    children.each { |pid| Process.wait(pid) }
  end

  def hold(holding, seen)
    text = "x" * SIZE
    holding.write(".")
    wait_until(timeout: 50) { File.exist?(seen) }
    exit!(text.empty? ? 1 : 0)
  end
end
