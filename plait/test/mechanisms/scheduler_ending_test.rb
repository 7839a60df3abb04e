# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "plait/mechanisms/scheduler"

# What becomes of waiting fibers when their loop ends by an error.
class SchedulerEndingTest < Minitest::Test
  # On a busy machine the fibers may need longer for their ensure parts than the grace that they have.
  WAITERS = <<~RUBY
    require "support/patience"
    Support::Patience.be_patient
    Fiber.set_scheduler(Plait::Scheduler.new)
    def note(text) = STDOUT.syswrite("\#{text} ")
    def waiter(text, &wait)
      Fiber.schedule do
        wait.call
      rescue StandardError
        note("swallowed")
      ensure
        sleep(0.01)
        note(text)
      end
    end
    waiter("sleep") { sleep }
    waiter("read") { IO.pipe.first.read }
    waiter("pop") { Queue.new.pop }
    waiter("map") { Plait.map([1, 2], on: :fibers) { sleep } }
    waiter("run") { Plait.run(on: :fibers) { |scope| scope.async { sleep } } }
    waiter("child") do
      child = spawn("exec sleep 60", %i[out err] => File::NULL)
      Process.wait(child)
    ensure
      Process.kill(:KILL, child)
    end
  RUBY
  NOTES = %w[sleep read pop map run child].sort.freeze

  # @return [Process::Status]
  def assert_ends(code, stderr = "")
    result = Support::FreshRuby.run(WAITERS + code)

    assert_equal(NOTES, result.out.split.sort)
    assert_match(stderr, result.err)
    result.status
  end

  {
    "an_error" => ["raise 'boom'", /boom/, 1],
    "exit" => ["exit(3)", /\A\z/, 3],
    "abort" => ["abort('over')", /\Aover\Z/, 1],
    "an_uncaught_throw" => ["throw :there", /uncaught throw/, 1],
    "an_error_in_a_fiber" => ["Fiber.schedule { raise 'boom' }", /boom/, 1],
    "an_error_in_a_fiber_later" => ["Fiber.schedule { sleep(0.01) && raise('boom') }", /boom/, 1],
    "exit_in_a_fiber" => ["Fiber.schedule { sleep(0.01) && exit(3) }", /\A\z/, 3]
  }.each do |name, (code, stderr, status)|
    define_method("test_#{name}") { assert_equal(status, assert_ends(code, stderr).exitstatus) }
  end

  %w[INT TERM].each do |signal|
    define_method("test_sig#{signal.downcase}_in_the_main_fiber") do
      status = assert_ends("Process.kill(:#{signal}, Process.pid) && Thread.new { sleep }.join")

      assert_equal(Signal.list[signal], status.termsig)
    end

    define_method("test_sig#{signal.downcase}_in_the_loop") do
      status = assert_ends("Thread.new { sleep(0.1) && Process.kill(:#{signal}, Process.pid) }")

      assert_equal(Signal.list[signal], status.termsig)
    end
  end

  def in_thread(&block)
    thread = Thread.new do
      Fiber.set_scheduler(Plait::Scheduler.new)
      block.call
    ensure
      Fiber.set_scheduler(nil)
    end
    thread.report_on_exception = false
    thread
  end

  # By an interrupt, before the loop has it back.
  def test_a_fiber_that_ends_while_it_is_idle_gets_no_job
    job = Class.new { def run = nil }.new
    scheduler = Struct.new(:abandoned?, :slice_left?).new(false, true)
    strands = Plait::Scheduler.const_get(:Strands).new(scheduler) { raise KeyError }
    2.times do
      strands.push(job)
      assert_raises(KeyError) { strands.dispatch }
    end
    strands.close(finish: true)
    assert_equal([0, true], [strands.count, strands.over?])
  end

  def test_a_thread_that_ends_by_an_error
    ended = false
    thread = in_thread do
      Fiber.schedule { sleep_then { ended = true } }
      raise KeyError
    end

    assert_raises(KeyError) { thread.join(60) }
    assert(ended)
  end

  def sleep_then
    sleep
  ensure
    yield
  end

  def test_a_thread_that_is_killed
    ended = false
    begun = Thread::Queue.new
    thread = in_thread do
      Fiber.schedule { sleep_then { ended = true } }
      begun << true
      Thread.stop
    end
    begun.pop
    thread.kill

    assert(thread.join(60))
    assert(ended)
  end

  # It gets a moment, not for ever.
  def test_a_fiber_that_does_not_let_itself_be_cancelled
    thread = in_thread do
      Fiber.schedule { loop { sleep_then { sleep } } }
      raise KeyError
    end

    assert_raises(KeyError) { thread.join(60) }
  end

  def test_a_fiber_that_raises_when_it_is_cancelled
    thread = in_thread do
      Fiber.schedule { sleep_then { raise "later" } }
      raise KeyError
    end
    _, told = capture_io { assert_raises(KeyError) { thread.join(60) } }

    assert_match(/a fiber that was cancelled with its event loop raised RuntimeError: later/, told)
  end

  # A job of the loop, whose fiber is used again.
  Job = Struct.new(:scheduler, :body) do
    def run
      body.call
    rescue Plait::Mechanisms::Interruption
      nil
    ensure
      scheduler.finished
    end
  end

  def test_a_job_that_ends_before_its_cancellation_arrives
    queue = Thread::Queue.new
    ended = false
    thread = in_thread do
      scheduler = Fiber.scheduler
      scheduler.spawn(Job.new(scheduler, -> { sleep_then { queue << true } }))
      scheduler.spawn(Job.new(scheduler, -> { queue.pop && (ended = true) }))
      scheduler.run_until(0) { queue.num_waiting == 1 }
      raise KeyError
    end

    assert_raises(KeyError) { thread.join(60) }
    assert(ended)
  end

  def test_without_an_error_they_are_waited_for
    ended = nil
    in_thread { Fiber.schedule { sleep(0.05).then { ended = :in_order } } }.join(60)

    assert_equal(:in_order, ended)
  end

  def test_nothing_is_left
    assert_no_leaks { assert_raises(KeyError) { in_thread { Fiber.schedule { sleep } && raise(KeyError) }.join(60) } }
  end
end
