# frozen_string_literal: true

require_relative "../builders"

class LabMemoryMeterTest < Minitest::Test
  SIZE = 64_000_000

  def setup
    skip("no /proc here") unless File.readable?("/proc/self/status")
    skip("no fork here") unless Process.respond_to?(:fork)
  end

  def test_the_peak_is_what_was_held_at_most_not_at_the_end
    peak = in_child do |meter|
      meter.start
      touch(SIZE)
      GC.start
      meter.stop
    end[:peak]
    assert_in_delta(SIZE, peak, SIZE / 3)
  end

  def test_what_was_held_before_does_not_count
    figures = in_child do |meter|
      touch(SIZE)
      GC.start
      meter.start
      touch(1000)
      meter.stop
    end
    skip("the kernel does not let the peak be reset") unless File.writable?("/proc/self/clear_refs")
    assert_equal(:resident, figures[:peak_source])
    assert_operator(figures[:peak], :<, SIZE / 4)
  end

  private

  # In a process of its own, so that the peaks of other tests are not in it.
  def in_child
    Plait::Lab.const_get(:FreshProcess).new(bound: 60).call { |_| yield Plait::Lab.const_get(:Meters)::Memory.new }
  end

  def touch(bytes)
    text = "x" * bytes
    text.bytesize
  end
end
