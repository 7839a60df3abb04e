# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/processes"
require "support/fresh_ruby"
require "plait"
require "plait/mechanisms/processes/child_process"
require "support/needing_async"

class ProcessesReadinessTest < Minitest::Test
  include Support::NeedingAsync

  Readiness = Plait::Mechanisms.const_get(:Processes)::Readiness

  def setup
    @reader, @writer = IO.pipe
  end

  def teardown = [@reader, @writer].each(&:close)

  def scenario
    assert_nil(Readiness.wait([@reader], [], 0.01))
    assert_equal([[], [@writer], []], Readiness.wait([@reader], [@writer], 10))
    @writer.write("!")
    assert_equal([[@reader], [@writer], []], Readiness.wait([@reader], [@writer], 10))
    @reader.read(1)
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
      require "plait/mechanisms/processes"
      Thread.singleton_class.prepend(Module.new { def new(*) = raise(ThreadError, "can't create Thread") })
      begin
        Plait::Mechanisms.const_get(:Processes)::Readiness.send(:on_a_thread, [], [], 0)
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
        waiting = task.async { Readiness.wait([@reader], [], 60) }
        sleep(0.05)
        waiting.stop
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
