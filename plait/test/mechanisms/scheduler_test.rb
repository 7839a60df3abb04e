# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "support/fresh_ruby"
require "timeout"

# As a drop-in: Fiber.set_scheduler(Plait::Scheduler.new), in anybody's program.
class SchedulerTest < Minitest::Test
  include SchedulerCases

  # The selectors are loaded with the first scheduler, and several threads may open theirs at the same time.
  def test_first_schedulers_in_several_threads
    result = Support::FreshRuby.run(<<~RUBY, flags: ["-w"])
      require "plait"
      print(Array.new(4) { Thread.new { Plait.map([1], on: :fibers) { |x| x } } }.flat_map(&:value))
    RUBY
    assert_equal(["[1, 1, 1, 1]", ""], [result.out, result.err])
  end

  def test_an_interrupt_leaves_no_entry_of_other_threads_behind
    came = []
    main = Thread.current
    loop_like = Object.new
    loop_like.define_singleton_method(:ready) { |entry| came << entry and Thread.new { main.raise(IOError) if entry == 1 }.join }
    selector = Struct.new(:wakeup) { def push(_) = nil }
    inbox = Plait::Scheduler.const_get(:Inbox).new(loop_like, selector.new)
    3.times { |n| inbox.push(n + 1) }
    assert_raises(IOError) { inbox.transfer }
    assert_equal([1, 2, 3], came)
  end

  # --- Fibers

  def test_a_fiber_starts_at_once_and_goes_on_when_its_creator_waits
    events = []
    with_scheduler do
      fiber = Fiber.schedule do
        events << :started
        sleep(0)
        events << :went_on
      end
      events << :returned
      assert_instance_of(Fiber, fiber)
      refute_predicate(fiber, :blocking?)
    end
    assert_equal(%i[started returned went_on], events)
  end

  def test_the_thread_runs_what_is_left_before_it_ends
    ran = []
    thread = Thread.new do
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule do
        sleep(0.01)
        Fiber.schedule { sleep(0.01).then { ran << :inner } }
        ran << :outer
      end
    end
    thread.join
    assert_equal(%i[outer inner], ran)
  end

  def test_so_does_the_program
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      Fiber.set_scheduler(Plait::Scheduler.new)
      3.times { |i| Fiber.schedule { sleep((3 - i) / 100.0); puts i } }
      puts "end"
    RUBY
    first, *others = result.out.lines(chomp: true)
    assert_equal(["end", %w[0 1 2], ""], [first, others.sort, result.err])
  end

  def test_a_program_is_ended_by_an_interrupt
    code = 'require "plait"; Fiber.set_scheduler(Plait::Scheduler.new); Fiber.schedule { puts "ready"; $stdout.flush; sleep }'
    IO.popen([RbConfig.ruby, *Support::FLAGS, "-e", code, { err: File::NULL }]) do |io|
      assert_equal("ready\n", io.gets)
      Process.kill(:INT, io.pid)
      Process.wait(io.pid)
      assert_equal(Signal.list["INT"], Process.last_status.termsig)
    end
  end

  def test_everything_is_freed
    assert_no_leaks do
      with_scheduler(blocking: :record) do
        Fiber.schedule { Plait.offload { sleep(0.01) } }
        Fiber.schedule { IO.select(IO.pipe.each(&:close).first(0), nil, nil, 0.01) }
        Fiber.schedule { Addrinfo.getaddrinfo("localhost", 80) }
      end
    end
  end

  def test_a_scheduler_that_is_replaced_runs_to_its_end_first
    ran = []
    with_scheduler do
      Fiber.schedule { sleep(0.01).then { ran << :first } }
      Fiber.set_scheduler(Plait::Scheduler.new)
      ran << :replaced
      Fiber.schedule { sleep(0.01).then { ran << :second } }
    end
    assert_equal(%i[first replaced second], ran)
  end

  def test_schedulers_of_several_threads
    totals = Array.new(4) do |number|
      Thread.new do
        Fiber.set_scheduler(Plait::Scheduler.new)
        Array.new(20) { Queue.new }.each { |queue| Fiber.schedule { sleep(0.001).then { queue << number } } }.tap do |queues|
          Fiber.schedule { Thread.current[:total] = queues.sum(&:pop) }
          Fiber.schedule { Thread.current.thread_variable_set(:total, queues.size * number) }
        end
        Fiber.set_scheduler(nil)
        Thread.current.thread_variable_get(:total)
      end
    end
    assert_equal([0, 20, 40, 60], totals.map(&:value))
  end

  def test_a_thread_inside_of_a_fiber_has_a_scheduler_of_its_own
    value = in_fiber { Thread.new { in_fiber { sleep(0.01).then { :inner } } }.value }
    assert_equal(:inner, value)
  end

  # A fiber that is always ready must not keep the others from their timers and descriptors.
  def test_nobody_starves
    seen = []
    with_scheduler do
      reader, writer = IO.pipe
      spinning = 2
      2.times { Fiber.schedule { sleep(0) while spinning.positive? } }
      Fiber.schedule { reader.gets.then { |line| seen << line }.then { spinning -= 1 } }
      Fiber.schedule { sleep(0.01).then { writer.puts("x") }.then { spinning -= 1 } }
    end
    assert_equal(["x\n"], seen)
  end

  # --- Errors

  def test_an_error_of_a_fiber_surfaces
    assert_raises(KeyError) { with_scheduler { Fiber.schedule { sleep(0.01).then { raise KeyError } } } }
    assert_raises(KeyError) { with_scheduler { Fiber.schedule { raise KeyError } } }
    assert_raises(KeyError) { with_scheduler { Fiber.schedule { Fiber.schedule { raise KeyError } } } }
  end

  def test_it_surfaces_where_the_loop_is_not_the_threads_own_fiber
    [-> { raise KeyError }, -> { sleep(0.01).then { raise KeyError } }].each do |body|
      thread = Thread.new do
        Fiber.new(blocking: true) do
          Fiber.set_scheduler(Plait::Scheduler.new)
          Fiber.schedule(&body)
          Fiber.set_scheduler(nil)
        end.resume
      end
      thread.report_on_exception = false
      assert_raises(KeyError) { thread.value }
    end
  end

  def test_everything_is_freed_after_an_error
    assert_no_leaks do
      assert_raises(KeyError) do
        with_scheduler(blocking: :record) do
          Fiber.schedule { Plait.offload { sleep(0.02) } }
          Fiber.schedule { sleep }
          Fiber.schedule { sleep(0.01).then { raise KeyError } }
        end
      end
    end
  end

  def test_wrong_options
    error = assert_raises(Plait::UsageError) { Plait::Scheduler.new(blocking: :maybe) }
    assert_match(/:warn, :raise, :record, a callable or nil, not :maybe/, error.message)
    assert_raises(Plait::UsageError) { Plait::Scheduler.new(blocking: :record, threshold: 0) }
  end

  # --- Arguments that Ruby leaves to the scheduler

  def test_intervals_are_checked_as_ruby_does_without_a_scheduler
    [-1, -0.5, "1", [], Object.new, *([nil] if RUBY_VERSION < "3.3")].each do |wrong|
      expected = assert_raises(StandardError) { Fiber.new(blocking: true) { sleep(wrong) }.resume }
      assert_raises(expected.class) { in_fiber { sleep(wrong) } }
    end
    assert_raises(ArgumentError) { in_fiber { IO.select(nil, nil, nil, -1) } }
    assert_raises(ArgumentError) { in_fiber { Mutex.new.then { |m| m.synchronize { ConditionVariable.new.wait(m, -1) } } } }
  end

  def test_sleep_returns_whole_seconds
    started = now
    slept = in_fiber { [sleep(0), sleep(1/100r)] }
    at_most = (now - started).ceil # Ruby compares two readings of a clock of whole seconds
    slept.each do |seconds|
      assert_instance_of(Integer, seconds)
      assert_includes(0..at_most, seconds)
    end
  end

  # Farther than a time_t reaches, and nothing nearer to wake up for.
  def test_a_far_timer
    [3_000_000, 1e20, Float::INFINITY].each do |far|
      ended = in_far_sleep(far) { |scheduler, fiber| scheduler.interrupt(fiber, EOFError) }
      assert_instance_of(EOFError, ended, far.to_s)
    end
  end

  def test_process_wait_of_what_is_no_child
    assert_raises(Errno::ECHILD) { in_fiber { Process.wait(1) } }
    assert_raises(Errno::ECHILD) { in_fiber { Process.wait } }
  end

  def test_process_wait_for_any_child_and_for_a_group
    assert_equal(4, in_fiber { spawn("sleep 0.02; exit 4").then { Process.wait2.last.exitstatus } })
    pid = nil
    found = in_fiber do
      pid = spawn("sleep 0.02", pgroup: true)
      Process.wait(-pid)
    end
    assert_equal(pid, found)
  end

  def test_process_wait_for_a_child_that_stops
    in_fiber do
      pid = spawn("kill -STOP $$; exit 5")
      assert_predicate(Process.wait2(pid, Process::WUNTRACED).last, :stopped?)
      Process.kill(:CONT, pid)
      assert_equal(5, Process.wait2(pid).last.exitstatus)
    end
  end

  def test_two_fibers_wait_for_one_child
    pid = spawn("sleep 0.02; exit 6")
    outcomes = []
    with_scheduler do
      2.times do
        Fiber.schedule do
          outcomes << Process.wait2(pid).last.exitstatus
        rescue Errno::ECHILD => e
          outcomes << e.class
        end
      end
    end
    assert_equal([6, Errno::ECHILD], outcomes)
  end

  # --- IO

  def test_select_with_descriptors_of_all_kinds
    in_fiber do
      reader, writer = IO.pipe
      left, right = UNIXSocket.pair
      later(0.01) { right << "x" }
      assert_equal([[left], [], []], IO.select([reader, left], [], [left], 60))
      assert_equal([[left], [writer, left], []], IO.select([reader, left], [writer, left], nil, 60))
      writer << "y"
      assert_equal([[reader, reader], [], []], IO.select([reader, reader]))
      file = File.open(__FILE__)
      assert_equal([[file], [], []], IO.select([file], nil, nil, 5))
    end
  end

  def test_select_sees_what_is_buffered
    in_fiber do
      reader, writer = IO.pipe
      writer << "a\nb\n"
      assert_equal("a\n", reader.gets)
      assert_equal([[reader], [], []], IO.select([reader], nil, nil, 5))
    end
  end

  def test_select_takes_what_has_to_io_and_refuses_the_rest
    in_fiber do
      reader, writer = IO.pipe
      wrapped = Struct.new(:to_io).new(reader)
      later(0.01) { writer << "x" }
      assert_same(wrapped, IO.select([wrapped], nil, nil, 60).first.first)
      assert_raises(TypeError) { IO.select([:x], nil, nil, 5) }
      reader.close
      assert_raises(IOError) { IO.select([reader], nil, nil, 5) }
    end
  end

  def test_select_leaves_no_watches
    with_scheduler do |scheduler|
      Fiber.schedule do
        pairs = Array.new(50) { IO.pipe }
        later(0.01) { pairs[7].last << "x" }
        assert_equal([[pairs[7].first], [], []], IO.select(pairs.map(&:first), nil, nil, 60))
        assert_nil(IO.select(pairs.map(&:first) - [pairs[7].first], nil, nil, 0.01))
        pairs.flatten.each(&:close)
      end
      scheduler.run
      assert_predicate(scheduler, :idle?)
    end
  end

  # Both are woken; one finds nothing.
  def test_two_fibers_read_from_one_pipe_in_blocking_mode
    reader, writer = IO.pipe
    reader.nonblock = writer.nonblock = false
    got = []
    with_scheduler do
      2.times { Fiber.schedule { 3.times { got << reader.readpartial(1) } } }
      Fiber.schedule { 6.times { |i| sleep(0.005).then { writer << i.to_s } } }
    end
    assert_equal(%w[0 1 2 3 4 5], got.sort)
  end

  def test_a_descriptor_that_is_closed_and_opened_again
    in_fiber do
      100.times do |i|
        reader, writer = IO.pipe
        later(0) { writer << i.to_s }
        assert_equal(i.to_s, reader.readpartial(10))
        [reader, writer].each(&:close)
      end
    end
  end

  def test_read_and_write_of_much
    data = Random.bytes(3_000_000)
    copy = nil
    with_scheduler do
      left, right = UNIXSocket.pair
      Fiber.schedule { left.write(data).then { left.close_write } }
      Fiber.schedule { copy = right.read }
    end
    assert_equal(data, copy)
  end

  def test_syswrite_into_a_full_pipe_waits
    in_fiber do
      reader, writer = IO.pipe
      nil while writer.write_nonblock("x" * 4096, exception: false).is_a?(Integer)
      later(0.01) { reader.readpartial(65_536) }
      assert_equal(4, writer.syswrite("more"))
    end
  end

  def test_errors_of_the_system_arrive
    in_fiber do
      reader, writer = IO.pipe
      reader.close
      assert_raises(Errno::EPIPE) { writer.write("x") }
      assert_raises(Errno::ECONNREFUSED) { TCPSocket.new("127.0.0.1", CLOSED) }
      assert_raises(SocketError) { Addrinfo.getaddrinfo("name.invalid", 80) }
    end
  end

  # --- Fibers and enumerators of the user's own, inside

  def test_a_users_fiber_waits
    in_fiber do
      fiber = Fiber.new do
        sleep(0.01)
        Fiber.yield(:first)
        IO.pipe.then { |reader, writer| later(0.01) { writer << "second" }.then { reader.readpartial(10) } }
      end
      assert_equal([:first, "second"], [fiber.resume, fiber.resume])
    end
  end

  # A machine that stands still looks like a call that blocks.
  def test_enumerators_wait_together
    tries = Array.new(4).lazy.map { blocked_by { |seen| 3.times { |i| Fiber.schedule { seen << waiting_enumerator(i).next } } } }
    refute_nil(tries.find(&:empty?), "something blocked in each try")
  end

  def test_an_enumerator_in_a_fiber_does_what_it_does_elsewhere
    [enumeration, in_fiber { enumeration }].then { |elsewhere, inside| assert_equal(elsewhere, inside) }
  end

  def test_an_enumerator_that_was_begun_outside_goes_on_inside
    numbers = [1, 2, 3].each
    assert_equal([1, 2, 3], [numbers.next, *in_fiber_of_this_thread { [numbers.next, numbers.next] }])
  end

  def test_an_enumerator_that_was_begun_inside_goes_on_outside
    numbers = [1, 2, 3].each
    assert_equal([1, 2, 3], [*in_fiber_of_this_thread { [numbers.next, numbers.next] }, numbers.next])
  end

  def test_an_error_in_an_enumerator
    in_fiber do
      failing = Enumerator.new { |values| (values << 1).then { sleep(0.001) }.then { raise KeyError } }
      assert_equal(1, failing.next)
      assert_raises(KeyError) { failing.next }
    end
  end

  private

  def in_far_sleep(seconds)
    ended = nil
    with_scheduler do |scheduler|
      fiber = Fiber.schedule do
        sleep(seconds)
      rescue EOFError => e
        ended = e
      end
      later(0.01) { yield scheduler, fiber }
    end
    ended
  end

  def in_fiber_of_this_thread
    value = nil
    Fiber.set_scheduler(Plait::Scheduler.new)
    Fiber.schedule { value = yield }
    Fiber.set_scheduler(nil)
    value
  end

  # @return [Array<String>] what the watchdog has seen
  def blocked_by
    seen = []
    dog = nil
    with_scheduler(blocking: :record, threshold: 0.15) { |scheduler| yield(seen).then { dog = scheduler.watchdog } }
    assert_equal([0, 1, 2], seen)
    dog.reports.map(&:to_s)
  end

  def waiting_enumerator(value) = Enumerator.new { |values| sleep(0.3).then { values << value } }

  # Everything that external enumeration can do.
  def enumeration
    numbers = Enumerator.new { |values| [values.yield(1, 2), values.yield, values << 3].then { |got| [:result, got.first(2)] } }
    seen = [numbers.peek, numbers.next, numbers.peek_values, numbers.next_values]
    numbers.rewind
    numbers.next
    numbers.feed(:fed)
    seen << numbers.next << numbers.next
    seen << [numbers.size, { a: 1 }.each.next, [[1, 2]].each.next, (1..3).each_slice(2).next, [4].lazy.map { _1 + 1 }.next]
    2.times do
      numbers.next
    rescue StopIteration => e
      seen << e.message << e.result
    end
    seen << [1, 2].each.with_index.then { |pairs| [pairs.next, pairs.next, (pairs.next rescue :over)] } # rubocop:disable Style/RescueModifier
    seen << loop_over([5, 6].each)
  end

  def loop_over(numbers)
    seen = []
    result = loop { seen << numbers.next }
    [seen, result]
  end
end
