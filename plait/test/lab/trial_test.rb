# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"
require "minitest/mock"
require "support/ractors"

class LabTrialTest < Minitest::Test
  include LabBuilders

  NAP = ->(item) { sleep(0.01) && (item * 2) }

  def test_what_one_trial_finds
    found = assert_no_leaks { trial(:threads, limit: 2, items: [1, 2, 3, 4], body: NAP) }
    assert_nil(found.failure)
    assert_operator(found.wall, :>=, 0.02)
    assert_operator(found.cpu, :<, found.wall)
    assert_equal([4, 0], [found.items, found.errors])
    assert_equal(digest_of(2, 4, 6, 8).digest, found.results.digest)
  end

  def test_when_each_item_ran_and_on_which_worker
    in_growing_times(0.1, 1, 5) do |seconds| # a thread takes long to start on a busy machine
      found = trial(:threads, limit: 2, items: [1, 2, 3, 4], body: ->(item) { sleep(seconds) && item })
      assert_equal(4, found.latencies.size)
      assert(found.latencies.all? { |time| time >= 0.01 })
      assert_equal([2, 4], [found.timeline.slots, found.timeline.bars.sum(&:last)])
    end
  end

  def test_waiting_overlaps_where_it_should
    in_growing_times(0.05, 0.25, 1) do |seconds| # 20 threads alone take 0.1 s to start on a busy machine
      nap = ->(_) { sleep(seconds) }
      one_by_one = trial(:sequence, items: (1..20).to_a, body: nap)
      together = trial(:threads, limit: 20, items: (1..20).to_a, body: nap)
      assert_operator(together.wall, :<, one_by_one.wall / 2)
    end
  end

  def test_the_body_runs_in_a_process_of_its_own_after_a_warm_up
    skip("no fork here") unless Process.respond_to?(:fork)
    count = 0
    body = ->(_) { [Process.pid == TESTS, count += 1] }
    found = trial(:sequence, items: [1, 2], warmup_items: [9, 9, 9], body: body)
    assert_equal(["[false, 4]", "[false, 5]"], found.results.previews)
    cold = trial(:sequence, warmup: 0, items: [1, 2], body: body)
    assert_equal(["[false, 1]", "[false, 2]"], cold.results.previews)
  end

  def test_processes_are_measured_with_their_workers
    skip("no fork here") unless Process.respond_to?(:fork)
    found = trial(:processes, limit: 2, items: [1, 2, 3, 4], body: ->(item) { (1..200_000).sum && (item * 2) })
    assert_nil(found.failure)
    assert_operator(found.cpu, :>, 0)
    assert_equal(digest_of(2, 4, 6, 8).digest, found.results.digest)
  end

  def test_memory_of_several_processes_is_sampled_and_of_one_read
    skip("no fork here") unless Process.respond_to?(:fork)
    skip("no /proc here") unless Lab.const_get(:Meters)::TreeMemory.supported?
    hold = ->(seconds) { ("x" * 30_000_000).bytesize.tap { sleep(seconds) } }
    # On a slow machine a short trial has too few samples.
    several = [0.6, 1.2, 2.4, 4.8].lazy.map { |seconds| trial(:processes, limit: 2, items: [seconds] * 2, warmup: 0, body: hold) }
                                  .find(&:peak_source)
    assert_equal(:sampled_processes, several&.peak_source)
    assert_operator(several.peak, :>, 30_000_000)
    assert_match(/resident/, trial(:threads, items: [0.1, 0.2], body: hold).peak_source.to_s)
  end

  def test_a_body_that_raises_is_a_failure_in_a_sentence
    found = trial(:threads, body: ->(item) { item == 2 ? raise(KeyError, "no such key") : item })
    assert_equal([false, :failed], [found.ok?, found.failure_kind])
    assert_match(/\AKeyError: no such key \(item 1: 2\)/, found.failure)
  end

  def test_errors_that_are_collected_are_counted
    body = ->(item) { item == 2 ? raise(KeyError, "no") : item }
    found = trial(:threads, options: { on_error: :collect }, body: body)
    assert_equal([true, 1], [found.ok?, found.errors])
    assert_match(/\Aitem 1: KeyError: no, at .*trial_test\.rb:\d+\z/, found.first_error)
  end

  def test_a_process_that_is_killed_in_a_trial
    skip("no fork here") unless Process.respond_to?(:fork)
    found = assert_no_leaks { trial(:threads, body: ->(_) { Process.kill(:KILL, Process.pid) && sleep }) }
    assert_equal(:died, found.failure_kind)
    assert_match(/killed by SIGKILL/, found.failure)
  end

  def test_a_trial_that_hangs
    skip("no fork here") unless Process.respond_to?(:fork)
    found = assert_no_leaks { trial(:threads, bound: 0.5, body: ->(_) { sleep }) }
    assert_equal(:hung, found.failure_kind)
  end

  def test_what_a_mechanism_can_not_do_is_no_failure
    Support::Ractors.needed
    socket = IO.pipe.first
    found = trial(:ractors, body: ->(_) { socket })
    assert_equal(:unsupported, found.failure_kind)
  ensure
    socket&.close
  end

  def test_without_fork_it_runs_here
    found = Lab.const_get(:FreshProcess).stub(:supported?, false) { trial(:threads, body: ->(_) { Process.pid }) }
    assert_equal(Process.pid.to_s, found.results.previews.first)
    assert_nil(found.peak)
  end

  TESTS = Process.pid

  private

  def trial(on, warmup: 1, bound: 60, **rest) = Lab.const_get(:Trial).new(cell(on, **rest), warmup: warmup, bound: bound).run
end
