# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "plait"
require "plait/mechanisms/readiness"
require "support/needing_async"

# Waiting for any of several descriptors, in a thread and in the fibers of schedulers.
class ReadinessTest < Minitest::Test
  include Support::NeedingAsync

  Readiness = Plait.const_get(:Readiness)

  def setup
    @reader, @writer = IO.pipe
    @other = IO.pipe
  end

  def teardown = [@reader, @writer, *@other].each(&:close)

  def scenario
    assert_nil(Readiness.wait([@reader], [], 0.01))
    assert_equal([[], [@writer], []], Readiness.wait([@reader], [@writer], 10))
    @writer.write("!")
    assert_equal([[@reader], [@writer], []], Readiness.wait([@reader], [@writer], 10))
    assert_equal([[@reader], [], []], Readiness.wait([@other.first, @reader], [], nil))
    assert_equal([[], [@writer], []], Readiness.wait([], [@writer], 10))
    @reader.read(1)
    assert_nil(Readiness.wait([@reader, @other.first], [], 0))
  end

  def cooperative
    order = []
    yield(-> { order << :waiting << Readiness.wait([@reader], [], 10).first.size },
          -> { (order << :writing) && @writer.write("!") })

    assert_equal([:waiting, :writing, 1], order)
  end

  def test_no_thread_for_a_scheduler_of_others
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      require "plait/mechanisms/readiness"
      Thread.singleton_class.prepend(Module.new { def new(*) = raise(ThreadError, "can't create Thread") })
      begin
        Plait.const_get(:Readiness).send(:on_a_thread, [], [], 0)
      rescue ThreadError => e
        print e.message
      end
    RUBY

    assert_equal(["can't create Thread", ""], [result.out, result.err])
  end

  def test_without_a_scheduler = scenario

  def test_in_a_plait_scheduler
    in_scheduler { scenario }
    cooperative { |*jobs| in_scheduler(*jobs) }
  end

  def test_in_async
    need_async
    Async { scenario }
    cooperative { |*jobs| Async { |task| jobs.each { |job| task.async { job.call } } } }
  end

  def test_an_interrupted_wait_leaves_no_thread
    need_async
    assert_no_leaks do
      Async do |task|
        [[@reader], [@reader, @other.first]].each do |readers|
          waiting = task.async { Readiness.wait(readers, [], nil) }
          sleep(0.05)
          waiting.stop
        end
      end
    end
  end

  def in_scheduler(*jobs, &block)
    failure = nil
    Thread.new do
      Fiber.set_scheduler(Plait::Scheduler.new)
      [*jobs, *block].each do |job|
        Fiber.schedule do
          job.call
        rescue Minitest::Assertion, StandardError => e
          failure = e
        end
      end
    end.join
    raise failure if failure
  end
end
