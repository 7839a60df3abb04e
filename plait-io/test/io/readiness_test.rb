# frozen_string_literal: true

require "test_helper"
require "plait"
require "plait/io/readiness"
require "support/needing_async"

# Waiting for any of several descriptors, in a thread and in the fibers of schedulers.
class IoReadinessTest < Minitest::Test
  include Support::NeedingAsync

  Readiness = Plait.const_get(:Io)::Readiness

  def setup
    @pipes = Array.new(2) { IO.pipe }
    @readers, @writers = @pipes.transpose
  end

  def teardown = @pipes.flatten.each(&:close)

  def scenario
    assert_empty(Readiness.readable(@readers, 0.01))
    assert_equal([[], @writers], Readiness.either(@readers, @writers, 10))
    refute_empty(Readiness.writable(@writers, 10))
    @writers.last.write("!")
    assert_equal([@readers.last], Readiness.readable(@readers, 10))
    assert_equal([@readers.last], Readiness.either(@readers, [], 10).first)
  end

  def test_without_a_scheduler = scenario

  def test_in_a_plait_scheduler = Plait.run(on: :fibers) { scenario }

  def test_in_async
    need_async
    Async { scenario }.wait
  end

  def test_in_async_others_go_on
    need_async
    Async do |task|
      waiting = task.async { Readiness.readable(@readers, 60) }
      @writers.first.write("!")
      assert_equal([@readers.first], waiting.wait)
    end.wait
  end

  # As a server's fiber that accepts, when its task is stopped.
  def test_a_wait_that_is_broken_off_leaves_no_thread
    need_async
    assert_no_leaks do
      Async do |task|
        [-> { Readiness.readable(@readers, nil) }, -> { Readiness.either(@readers, [], nil) }].each do |wait|
          waiting = task.async { wait.call }
          sleep(0.05)
          waiting.stop
        end
      end.wait
    end
  end
end
