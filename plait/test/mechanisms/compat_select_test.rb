# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "support/fresh_ruby"

# IO.select and the waits that have a timeout, in a fiber.
class CompatSelectTest < Minitest::Test
  include SchedulerCases

  # The names that Ruby has for it.
  SELECTS = [IO.method(:select), Kernel.method(:select), ->(*lists) { select(*lists) }].freeze

  def test_others_run_meanwhile
    SELECTS.each do |select|
      in_fiber do
        reader, writer = IO.pipe
        Fiber.schedule { writer << "x" } # never, if the thread stopped here
        Fiber.schedule { sleep(0.001).then { writer << "y" } }
        reader.read(1)
        assert_equal([[reader], [], []], select.call([reader], nil, nil, 5))
      end
    end
  end

  def test_kernel_select_stays_private = assert_raises(NoMethodError) { Object.new.select([], nil, nil, 0) }

  # From Ruby 3.2 on the hook is given what the caller gave.
  def test_as_few_arguments_as_ruby_takes
    in_fiber do
      reader, writer = IO.pipe
      Fiber.schedule { sleep(0.001).then { writer << "y" } }
      assert_equal([[], [writer], []], IO.select(nil, [writer]))
      SELECTS.each { |select| assert_equal([[reader], [], []], select.call([reader])) }
    end
  end

  def test_wrong_arguments
    in_fiber do
      SELECTS.each do |select|
        assert_raises(ArgumentError) { select.call([], nil, nil, -1) }
        assert_raises(TypeError) { select.call([], nil, nil, "1") }
        assert_raises(TypeError) { select.call(1, nil, nil, 1) }
      end
    end
  end

  # Then there is no descriptor left to look with.
  def test_a_timeout_when_no_further_file_can_be_opened
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait/mechanisms/scheduler"
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule do
        reader, writer = IO.pipe
        Process.setrlimit(:NOFILE, writer.fileno + 10)
        kept = Array.new(100) { writer.dup rescue nil }
        p kept.last, IO.select([reader], nil, nil, 0.001), reader.wait_readable(0.001)
      end
    RUBY
    assert_equal(["nil\n" * 3, ""], [result.out, result.err])
  end

  # poll(2) refuses more entries than there may be descriptors; it is asked once the time is over.
  def test_one_descriptor_many_times
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait/mechanisms/scheduler"
      Process.setrlimit(:NOFILE, 64)
      reader, writer = IO.pipe
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule { p IO.select([reader] * 100, nil, nil, 0.001), writer.closed? }
    RUBY
    assert_equal(["nil\nfalse\n", ""], [result.out, result.err])
  end

  # Ruby's own select knows nothing of it, either.
  def test_the_timeout_of_an_io_is_for_its_own_methods
    in_fiber do
      pipes, writers = Array.new(2) { IO.pipe }.transpose
      pipes.each { |reader| reader.timeout = 0.001 }
      assert_nil(IO.select(pipes.first(1), nil, nil, 0.01))
      assert_nil(IO.select(pipes, nil, nil, 0.01))
      writers.each(&:close) # until then they live: a garbage collection would close them
    end
  end

  def test_a_look_does_not_let_others_run
    in_fiber do
      order = []
      reader, writer = IO.pipe
      Fiber.schedule { sleep(0).then { order << :other } }
      SELECTS.each { |select| assert_nil(select.call([reader], nil, nil, 0)) }
      assert_empty(order)
      writer.close
    end
  end

  def test_outside_of_the_fibers_it_is_rubys_own
    with_scheduler do |scheduler|
      reader, writer = IO.pipe
      before = scheduler.ticks
      SELECTS.each { |select| assert_nil(select.call([reader], nil, nil, 0.001)) }
      assert_equal(before, scheduler.ticks)
      writer.close
    end
  end

  # As the kernel does: what is ready goes before the time that is over. Where the machine is busy, the time of the call may be
  # over before the other fiber's.
  def test_ready_in_the_same_turn_as_the_timeout
    [->(io) { IO.select([io], nil, nil, 0.002) == [[io], [], []] },
     ->(io) { io.wait_readable(0.002).equal?(io) },
     ->(io) { io.wait(IO::READABLE | IO::PRIORITY, 0.002) },
     ->(io) { io.timeout = 0.002 and io.wait_readable.equal?(io) }].each do |call|
      assert(5.times.any? { in_fiber { answer_after_a_standstill(&call) } })
    end
  end

  def test_the_events_that_came
    in_fiber do
      left, right = UNIXSocket.pair
      stand_still { right << "x" }
      assert_equal(IO::READABLE, Fiber.scheduler.io_wait(left, IO::READABLE, 0.002))
      assert_equal(IO::WRITABLE, Fiber.scheduler.io_wait(right, IO::WRITABLE, 0.002))
      refute(Fiber.scheduler.io_wait(right, IO::READABLE, 0.002))
    end
  end

  # A thread that is woken just then does not ask the kernel.
  def test_ready_while_others_interrupt_the_thread
    answers = in_fiber do
      reader, writer = IO.pipe
      writer << "x"
      interrupted { Array.new(2_000) { [IO.select([reader], nil, nil, 0.000001), reader.wait(IO::PRIORITY | IO::READABLE, 0)] } }
    end
    assert_equal(0, answers.flatten(1).count(&:nil?))
  end

  private

  def answer_after_a_standstill
    reader, writer = IO.pipe
    stand_still { writer << "x" }
    yield reader
  end

  # The loop does not turn for a while; after that two timers are due, and the first of them belongs to the block.
  def stand_still(&block)
    Fiber.schedule { sleep(0.001).then(&block) }
    Fiber.schedule do
      sleep(0)
      stop = SchedulerCases.now + 0.01
      nil while SchedulerCases.now < stop
    end
  end

  def interrupted
    thread = Thread.current
    others = Array.new(2) { Thread.new { loop { thread.wakeup.then { Thread.pass } } } }
    yield
  ensure
    others.each { |other| other.kill.join }
  end
end
