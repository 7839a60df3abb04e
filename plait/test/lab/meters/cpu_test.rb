# frozen_string_literal: true

require_relative "../builders"

class LabCpuMeterTest < Minitest::Test
  Cpu = Plait::Lab.const_get(:Meters)::Cpu

  def test_waiting_takes_time_but_no_processor
    figures = measured { sleep(0.2) }
    assert_operator(figures[:wall], :>=, 0.2)
    assert_operator(figures[:cpu], :<, figures[:wall] / 2)
  end

  def test_the_work_of_children_that_were_waited_for_counts
    skip("no fork here") unless Process.respond_to?(:fork)
    figures = measured { Process.wait(Process.fork { burn(0.2) && exit!(0) }) }
    assert_operator(figures[:cpu], :>=, 0.2)
  end

  private

  def measured
    meter = Cpu.new.tap(&:start)
    yield
    meter.stop
  end

  def burn(seconds)
    begin_at = cpu
    nil while cpu - begin_at < seconds
    true
  end

  def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end
