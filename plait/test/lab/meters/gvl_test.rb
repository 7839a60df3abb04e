# frozen_string_literal: true

require_relative "../builders"

class LabGvlTest < Minitest::Test
  include LabBuilders

  Gvl = Plait::Lab.const_get(:Meters)::Gvl

  def test_it_is_known_on_newer_rubies_alone
    assert_equal(RUBY_ENGINE == "ruby" && RUBY_VERSION >= "3.2", Gvl.supported?)
  end

  def test_threads_that_compute_wait_for_each_other
    alone, together = [1, 3].map { |count| waited { Array.new(count) { Thread.new { burn(0.3) } }.each(&:join) } }
    return assert_nil(together) unless Gvl.supported?

    assert_operator(together, :>, 0.5, "each of three waits twice as long as it computes")
    assert_operator(alone, :<, together / 2)
  end

  def test_threads_that_wait_for_time_do_not
    skip("this Ruby has no hook for it") unless Gvl.supported?

    assert_operator(waited { Array.new(3) { Thread.new { sleep(0.2) } }.each(&:join) }, :<, 0.3)
  end

  def test_several_meters_at_once
    skip("this Ruby has no hook for it") unless Gvl.supported?

    outer = Gvl.new.tap(&:start)
    inner = waited { 2.times.map { Thread.new { burn(0.1) } }.each(&:join) }
    2.times.map { Thread.new { burn(0.1) } }.each(&:join)
    assert_operator(outer.stop[:gvl_wait], :>, inner)
    assert_nil(outer.stop[:gvl_wait])
  end

  def test_a_row_says_how_long_its_threads_have_waited
    skip("this Ruby has no hook for it") unless Gvl.supported?

    found = Plait.compare([1] * 4, on: %i[threads processes], limit: 4, rounds: 2, memory: false) { burn(0.05) && 1 }
    threads, processes = found.to_h[:rows].map { |row| row[:gvl_wait_s] }
    assert_operator(threads[:median], :>, 0.2)
    assert_nil(processes)
    assert_match(/ computing, GVL \d\d %</, found.to_html)
  end

  private

  def waited
    meter = Gvl.new.tap(&:start)
    yield
    meter.stop[:gvl_wait]
  end

  # Processor time: each thread needs the lock for so long.
  def burn(seconds)
    ends = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < ends
    true
  end
end
