# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/fibers"
require "support/scheduler_cases"
require "support/fresh_ruby"
require "support/patience"

# on: :fibers, where there is a loop already: one of ours, or Async's.
class FibersTest < Minitest::Test
  include SchedulerCases

  # Seconds in which also a slow machine has begun what is to be ended.
  SOON = 2

  # --- A loop of ours

  def test_a_run_inside_of_a_fiber_uses_its_loop
    in_fiber do |scheduler|
      assert_equal([scheduler] * 2, Plait.map([1, 2], on: :fibers) { Fiber.current_scheduler })
      assert_same(scheduler, Plait.run(on: :fibers) { |scope| scope.async { Fiber.current_scheduler }.value })
    end
  end

  def test_runs_in_runs_in_runs
    assert_no_leaks(fibers: true) do
      loops = Plait.run(on: :fibers) do |scope|
        outer = Fiber.current_scheduler
        inner = scope.async do
          Plait.run(on: :fibers) { |tasks| tasks.async { Plait.map([1], on: :hybrid) { Fiber.current_scheduler } }.value }
        end
        [outer, *inner.value]
      end
      assert_equal(1, loops.uniq.size)
    end
  end

  # A fiber that only garbage collection would end holds its stack until then, and a stale pointer may keep it for good.
  def test_a_run_ends_its_own_fibers_without_garbage_collection
    skip("only CRuby lists its fibers") unless RUBY_ENGINE == "ruby"

    Plait.map([1], on: :fibers) { |n| n }
    GC.disable
    before = living_fibers
    assert_equal([1, 2], Plait.map([1, 2], on: :fibers) { |n| sleep(0.001) && n })
    assert_empty(living_fibers - before)
  ensure
    GC.enable
  end

  def test_they_wait_together
    best = (1..TRIES).lazy.map { nested_waits }.find { |seconds| seconds <= TOGETHER }
    assert(best, "a run in a run never waited together with the others")
  end

  def test_a_run_outside_of_the_fibers_of_a_loop_turns_it
    seen = []
    with_scheduler do
      Fiber.schedule { sleep(0.001).then { seen << :beside } }
      assert_equal([2, 4], Plait.map([1, 2], on: :fibers) { |n| sleep(0.02) && (n * 2) })
      assert_equal([:beside], seen)
    end
  end

  def test_a_thread_has_no_loop_after_a_run
    Plait.map([1], on: :fibers) { |n| n }
    assert_nil(Fiber.scheduler)
    assert_raises(KeyError) { Plait.run(on: :fibers) { raise KeyError } }
    assert_nil(Fiber.scheduler)
  end

  def test_bodies_that_will_not_end_are_given_up
    with_grace(0.05) do
      given_up = false
      assert_no_leaks do
        assert_raises(KeyError) do
          Plait.map([1, 2], on: :fibers) do |n|
            raise KeyError if n == 2

            stubborn { given_up }
          end
        end
      end
    ensure
      given_up = true
    end
  end

  def test_also_by_a_run_inside_of_a_fiber
    with_grace(0.05) do
      given_up = false
      in_fiber do
        assert_raises(KeyError) { Plait.map([1, 2], on: :fibers) { |n| n == 2 ? raise(KeyError) : stubborn { given_up } } }
        given_up = true
      end
    end
  end

  # --- A caller in a fiber that no loop turns

  def test_a_caller_that_is_suspended_in_the_middle
    assert_no_leaks(fibers: true) do
      %i[fibers hybrid].each do |on|
        results = Plait.each_result(1..3, on: on, limit: 1) { |n| n }
        suspended = Fiber.new { results.each { |outcome| Fiber.yield(outcome.value) } }
        3.times do |n|
          assert_equal(n + 1, suspended.resume)
          assert_equal([5], Plait.map([5], on: :fibers) { |m| m }, "the thread has its own loop")
        end
        suspended.resume
        refute_predicate(suspended, :alive?)
      end
    end
  end

  def test_its_block_for_outcomes_and_its_source_stay_with_it
    seen = []
    source = Enumerator.new { |items| 2.times { |n| (seen << Fiber.current).then { items << n } } }
    here = Fiber.new do
      Plait.each_result(source, on: :fibers, progress: ->(*) { seen << Fiber.current }) { |n| n }.each { seen << Fiber.current }
      Fiber.current
    end.resume
    assert_equal([6, [here]], [seen.size, seen.uniq])
  end

  def test_its_items_wait_together
    best = (1..TRIES).lazy.map { Fiber.new { nested_waits }.resume }.find { |seconds| seconds <= TOGETHER }
    assert(best, "the items never waited together")
  end

  def test_its_tasks
    assert_no_leaks do
      waiting = ->(n) { Plait.run(on: :fibers) { |scope| scope.async { sleep(0.001) && n }.value } }
      results = Enumerator.new { |values| 2.times { |n| values << waiting.call(n) } }
      assert_equal([0, 1], [results.next, results.next])
      assert_raises(KeyError) { Fiber.new { Plait.run(on: :fibers) { |scope| scope.async { raise KeyError } } }.resume }
    end
  end

  def test_it_is_ended_from_outside
    ended = Queue.new
    assert_no_leaks do
      assert_raises(Plait::TimeoutError) do
        Plait.timeout(SOON) { Fiber.new { Plait.map([1, 2], on: :fibers) { ensuring(ended) { sleep } } }.resume }
      end
      assert_raises(Plait::TimeoutError) do
        Plait.timeout(SOON) { Fiber.new { Plait.run(on: :fibers) { |scope| scope.async { ensuring(ended) { sleep } } } }.resume }
      end
    end
    assert_equal(3, ended.size)
  end

  def test_leaving_it_early
    ended = Queue.new
    assert_no_leaks do
      results = Plait.each_result([0, 30, 30], on: :fibers) { |seconds| ensuring(ended) { sleep(seconds) } }
      assert_equal(0, Fiber.new { results.each { |outcome| break outcome.item } }.resume)
    end
    assert_equal(3, ended.size)
  end

  def test_what_breaks_its_loop_reaches_it
    ended = Queue.new
    assert_no_leaks do
      assert_raises(IOError) do
        breaking = -> { Fiber.schedule { sleep(0.01).then { raise IOError } } }
        Fiber.new { Plait.map([1, 2, 3], on: :fibers) { ensuring(ended) { breaking.call.then { sleep } } } }.resume
      end
    end
    assert_equal(3, ended.size)
  end

  def test_bodies_that_will_not_end_are_given_up_there_too
    with_grace(0.05) do
      given_up = false
      assert_no_leaks do
        assert_raises(KeyError) do
          Fiber.new { Plait.map([1, 2], on: :fibers) { |n| n == 2 ? raise(KeyError) : stubborn { given_up } } }.resume
        end
      end
    ensure
      given_up = true
    end
  end

  def test_a_block_that_ends_the_thread_of_its_loop
    assert_no_leaks do
      error = assert_raises(Plait::WorkerDied) { Fiber.new { Plait.map([1, 2], on: :fibers) { Thread.exit } }.resume }
      assert_match(/Thread\.exit/, error.message)
    end
  end

  # A fiber that blocks its loop, as it has asked to.
  def test_a_blocking_fiber_of_a_loop
    in_fiber do
      assert_equal([1], Fiber.new(blocking: true) { Plait.map([1], on: :fibers) { |n| n } }.resume)
      assert_equal([1], Enumerator.new { |values| values << Plait.map([1], on: :fibers) { |n| n } }.next)
    end
  end

  def test_which_fiber_a_thread_began_with
    root = Plait.const_get(:Patches).method(:root?)
    inner = ->(*) { root.call }
    assert_equal([true] * 3, [root.call, Thread.new(&inner).value, Fiber.new { Thread.new(&inner).value }.resume])
    fibers = [Fiber.new(&inner), Fiber.new(blocking: true, &inner), Fiber.new(blocking: true, &root)]
    assert_equal([false] * 3, fibers.map(&:resume))
    twice = Enumerator.new { |values| values << Enumerator.new { |others| others << root.call }.next }
    assert_equal([false, false], [Enumerator.new { |values| values << root.call }.next, twice.next])
  end

  # --- Ended from outside of the loop

  # The exception arrives in the thread, in whatever fiber has it just then.
  def test_a_time_limit_around_a_run_that_computes
    ended = []
    assert_no_leaks do
      assert_raises(Plait::TimeoutError) do
        Plait.timeout(SOON) { Plait.map([1, 2], on: :fibers) { |n| n == 1 ? ensuring(ended) { sleep } : compute } }
      end
    end
    assert_equal([1], ended)
  end

  def test_around_tasks
    [-> { compute }, -> { sleep }].each do |work|
      ended = []
      assert_no_leaks(fibers: true) do
        assert_raises(Plait::TimeoutError) do
          Plait.timeout(SOON) do
            Plait.run(on: :fibers) do |scope|
              scope.async { ensuring(ended) { sleep } }
              scope.async { work.call }
              ensuring(ended) { sleep }
            end
          end
        end
      end
      assert_equal([1, 1], ended)
    end
  end

  def test_around_the_block_of_a_scope_that_computes
    ended = []
    assert_raises(Plait::TimeoutError) do
      Plait.timeout(SOON) do
        Plait.run(on: :fibers) do |scope|
          begun = false
          scope.async { ensuring(ended) { (begun = true) && sleep } }
          sleep(0.001) until begun
          compute
        end
      end
    end
    assert_equal([1], ended)
  end

  def test_an_exception_that_is_raised_in_the_thread_ends_the_tasks
    ended = []
    waiting = Queue.new
    caller = Thread.current
    raiser = Thread.new { 2.times { waiting.pop }.then { caller.raise(IOError, "from outside") } }
    assert_raises(IOError) do
      Plait.run(on: :fibers) do |scope|
        scope.async { ensuring(ended) { (waiting << 1).then { sleep } } }
        ensuring(ended) { (waiting << 1).then { sleep } }
      end
    end
    assert_equal([1, 1], ended)
  ensure
    raiser.join
  end

  # The thread's own run is cancelled while a fiber of the inner one computes.
  def test_a_run_on_threads_around_it_that_is_cancelled
    computing = Queue.new
    seen = nil
    Support::Patience.patiently do
      assert_raises(IOError) do
        Plait.map([1, 2], on: :threads) do |n|
          next computing.pop.then { raise IOError } if n == 1

          Plait.map([1], on: :fibers) { (computing << 1).then { compute } }
        rescue Plait::Mechanisms::Interruption => e
          seen = e
          raise
        end
      end
    end
    refute_nil(seen, "it had to be killed")
  end

  # --- Fibers that are used again

  def test_a_job_does_not_see_what_another_has_left
    names = %i[one two].freeze
    seen = Plait.map(1..50, on: :fibers, limit: 1) do |n|
      left = names.map { |name| Thread.current[name] } + Thread.current.keys
      names.each { |name| Thread.current[name] = n }
      sleep(0) if n.even?
      left + [names.map { |name| Thread.current[name] }.uniq == [n]]
    end
    assert_equal([[nil, nil, true]], seen.uniq)
  end

  def test_nor_what_one_that_failed_or_was_cancelled_has_left
    in_fiber do
      Plait.map(1..5, on: :fibers, on_error: :collect) { (Thread.current[:left] = 1).then { raise KeyError } }
      Plait.map(1..5, on: :fibers, on_error: :collect, timeout: 0.005) { (Thread.current[:left] = 1).then { sleep } }
      assert_equal([nil], Plait.map(1..20, on: :fibers) { Thread.current[:left] }.uniq)
    end
  end

  def test_few_fibers_for_many_short_jobs
    fibers = Plait.map(1..1_000, on: :fibers, limit: 8) { |n| (sleep(0) if (n % 10).zero?).then { Fiber.current } }
    assert_operator(fibers.uniq.size, :<=, 9)
  end

  # --- More than the system gives

  def test_jobs_beyond_the_capacity_wait_in_the_queue
    with_capacity(5) do
      peak = under_way = 0
      values = assert_no_leaks do
        Plait.map(1..40, on: :fibers, limit: 40) do |n|
          peak = [peak, under_way += 1].max
          sleep(0.001)
          under_way -= 1
          n
        end
      end
      assert_equal([(1..40).to_a, 5], [values, peak])
    end
  end

  def test_those_in_the_queue_can_be_cancelled
    with_capacity(3) do
      began = []
      assert_no_leaks(fibers: true) do
        assert_raises(Plait::DeadlineExceeded) do
          Plait.map(1..20, on: :fibers, limit: 20, deadline: 2) { |n| (began << n).then { sleep } }
        end
        assert_equal([1, 2, 3], began)
        assert_raises(KeyError) do
          Plait.map(1..20, on: :fibers, limit: 20) { |n| n == 3 ? raise(KeyError) : (began << n).then { sleep } }
        end
      end
      # The fiber of the one that failed may have begun the next before anybody was told.
      assert_includes([[1, 2], [1, 2, 4]], began.drop(3))
    end
  end

  def test_tasks_of_a_scope_wait_in_the_queue_too
    with_capacity(4) do
      sum = Plait.run(on: :fibers) { |scope| Array.new(30) { |n| scope.async { sleep(0.001) && n } }.sum(&:value) }
      assert_equal((0...30).sum, sum)
    end
  end

  # The kernel may refuse one earlier: the rest goes on with those that there are.
  def test_a_fiber_that_the_system_refuses
    fibers = refusing_fibers(after: 3) do
      Plait.map(1..12, on: :fibers, limit: 12) { |n| sleep(0.001).then { [n, Fiber.current] } }
    end
    assert_equal([(1..12).to_a, 3], [fibers.map(&:first), fibers.map(&:last).uniq.size])
  end

  # Takes all memory maps but 1,000: each second page is readable.
  FEW_MAPS = <<~RUBY
    require "fiddle"
    require "plait"
    Plait.map([1], on: :fibers) { |n| n }
    libc = Fiddle.dlopen(nil)
    number, pointer = Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP
    mmap = Fiddle::Function.new(libc["mmap"], [pointer] + [number] * 5, pointer)
    mprotect = Fiddle::Function.new(libc["mprotect"], [pointer, number, number], Fiddle::TYPE_INT)
    most = File.read("/proc/sys/vm/max_map_count").to_i
    pages = most - File.foreach("/proc/self/maps").count - 1_000
    at = mmap.call(nil, pages * 4096, 0, 0x22, -1, 0).to_i
    (0...pages).step(2) { |page| mprotect.call(at + (page * 4096), 4096, 1) }
    running = most = 0
    schedulers = Plait.map(1..1_000, on: :fibers, limit: 1_000) do
      most = [most, running += 1].max
      sleep(0.01)
      running -= 1
      !Fiber.current_scheduler.nil?
    end
    puts schedulers.tally, most.between?(100, 900)
  RUBY

  def test_fibers_go_on_beside_one_that_the_system_has_refused
    skip("memory maps are counted on Linux with pages of 4 KiB") unless RUBY_PLATFORM.match?(/x86_64-linux/)
    skip("most maps are allowed here") if File.read("/proc/sys/vm/max_map_count").to_i > 100_000
    result = Support::FreshRuby.run(FEW_MAPS)
    assert_equal("{true=>1000}\ntrue\n", result.out.delete(" "), result.err)
  end

  def test_when_it_refuses_the_first
    error = assert_raises(Plait::UnsupportedError) { refusing_fibers(after: 0) { Plait.map([1], on: :fibers) { |n| n } } }
    assert_match(/vm\.max_map_count/, error.message)
    assert_nil(Fiber.scheduler)
  end

  def test_the_capacity_is_what_the_kernel_allows
    path = "/proc/sys/vm/max_map_count"
    skip("only Linux tells a limit: #{path}") unless File.exist?(path)

    strands = Plait::Scheduler.const_get(:Strands)
    assert_operator(strands.capacity * strands::MAPS_PER_FIBER, :<=, [File.read(path).to_i, 2 * 1_024].max)
  end

  # --- Async's loop

  # Each check prints a line of what has to be true.
  {
    uses_its_scheduler: <<~RUBY,
      check(Plait.map([1, 2], on: :fibers) { Fiber.scheduler }.all?(Async::Scheduler))
      check(Plait.run(on: :fibers) { |s| s.async { Fiber.scheduler }.value }.equal?(task.reactor))
      check(Plait.each_result(1.step, on: :fibers) { |n| sleep(0.001) && n }.first(3).size == 3)
    RUBY
    waits_together_with_its_tasks: <<~RUBY,
      order = []
      beside = task.async { 3.times { sleep(0.005).then { order << :beside } } }
      Plait.map([1, 2], on: :fibers) { (sleep(0.001) until order.size >= 3).then { order << :ours } }
      beside.wait
      check(order == %i[beside beside beside ours ours])
    RUBY
    keeps_order_and_limit: <<~RUBY,
      now = peak = 0
      values = Plait.map(1..20, on: :fibers, limit: 3) do |n|
        peak = [peak, now += 1].max
        sleep(0.001 * (n % 3))
        (now -= 1).then { n * 2 }
      end
      check(values == (1..20).map { |n| n * 2 }, peak == 3)
    RUBY
    raises_errors: <<~RUBY,
      ended = []
      begin
        Plait.map([1, 2, 3], on: :fibers) { |n| begin; n == 3 ? raise(KeyError, "no") : sleep; ensure; ended << n; end }
      rescue KeyError => e
        check(e.message == "no (item 2: 3)", ended.sort == [1, 2, 3])
      end
      begin
        Plait.run(on: :fibers) do |scope|
          scope.async { begin; sleep; ensure; ended << :task; end }
          scope.async { sleep(0.005).then { raise KeyError } }
          begin; sleep; ensure; ended << :body; end
        end
      rescue KeyError
        check(ended.last(2).sort == %i[body task])
      end
    RUBY
    times_out: <<~RUBY,
      outcomes = Plait.map([0, 30], on: :fibers, timeout: 1, on_error: :collect) { |s| sleep(s) }
      check(outcomes[0].ok?, outcomes[1].error.instance_of?(Plait::TimeoutError))
      begin
        Plait.map([30] * 3, on: :fibers, deadline: 0.05) { |s| sleep(s) }
      rescue Plait::DeadlineExceeded
        check(true)
      end
      begin
        Plait.run(on: :fibers, deadline: 0.05) { |s| s.async { sleep } }
      rescue Plait::DeadlineExceeded
        check(true)
      end
    RUBY
    cancels_tasks: <<~RUBY,
      ended = []
      Plait.run(on: :fibers) do |scope|
        one = scope.async { begin; sleep; ensure; ended << 1; end }
        sleep(0.001)
        one.cancel
        check(one.wait.error.instance_of?(Plait::CancelledError), ended == [1])
      end
      check(Plait.first([30, 0.001], on: :fibers) { |s| sleep(s).then { s } } == 0.001)
    RUBY
    ends_with_its_task: <<~RUBY,
      ended = []
      stopped = task.async { Plait.map([1, 2], on: :fibers) { |n| begin; sleep; ensure; ended << n; end } }
      sleep(0.005)
      stopped.stop
      stopped.wait
      check(ended.sort == [1, 2], stopped.stopped?)
      begin
        task.with_timeout(0.02) { Plait.map([3, 4], on: :fibers) { |n| begin; sleep; ensure; ended << n; end } }
      rescue Async::TimeoutError
        check(ended.sort == [1, 2, 3, 4])
      end
    RUBY
    wakes_the_scope_once_for_tasks_that_end_together: <<~RUBY,
      values = Plait.run(on: :fibers) do |s|
        first, = Array.new(3) { s.async { sleep(0.05).then { 1 } } }
        last = s.async { sleep(0.2).then { 2 } }
        [first.value, last.value]
      end
      check(values == [1, 2])
      over = false
      Plait.run(on: :fibers) do |s|
        first, = Array.new(3) { s.async { sleep(0.05) } }
        s.async { sleep(0.2).then { over = true } }
        first.wait
      end
      check(over)
    RUBY
    cancels_a_scope_inside_of_its_task: <<~RUBY,
      errors = Plait.run(on: :fibers) { |s| [s.async { s.cancel.then { sleep(60) } }].map { |one| one.wait.error.class } }
      check(errors == [Plait::CancelledError])
    RUBY
    offloads_inside_of_offloaded_blocks: <<~RUBY,
      size = Plait.module_eval("Offload")::Pool::DEFAULT_SIZE
      begun = Thread::Queue.new
      task.with_timeout(60) do
        nested = lambda do
          begun << 1
          sleep(0.001) until begun.size == size
          Sync { Plait.offload { 1 } }
        end
        check(Array.new(size) { task.async { Plait.offload(&nested) } }.sum(&:wait) == size)
      end
    RUBY
    ends_a_block_whose_tasks_run_in_threads: <<~RUBY,
      beside = task.async { sleep(0.05).then { 7 } }
      begin
        Plait.run(on: :threads) { |s| s.async { sleep(0.005).then { raise KeyError } }.then { sleep } }
      rescue KeyError
        check(beside.wait == 7)
      end
    RUBY
    takes_the_other_mechanisms: <<~RUBY,
      check(Plait.map([1, 2], on: :hybrid) { |n| Plait.offload { n } } == [1, 2])
      check(Plait.map([1, 2], on: :threads) { |n| n } == [1, 2])
      check(Plait.map([1, 2], on: :processes) { |n| n } == [1, 2])
    RUBY
    reuses_it_in_runs_in_runs: <<~RUBY
      loops = Plait.map([1, 2], on: :fibers) { Plait.run(on: :fibers) { |s| s.async { Fiber.scheduler }.value } }
      check(loops.uniq == [task.reactor])
    RUBY
  }.each do |name, code|
    define_method(:"test_async_#{name}") do
      result = in_async(code)
      assert_equal(["", code.scan("check(").size], [result.err, result.out.count("\n")])
      assert_equal(["true"], result.out.split.uniq, result.out)
    end
  end

  # The files of a mechanism are read at its first use, not through the other library's loop.
  def test_async_is_there_at_the_first_use
    code = 'require "async"; require "plait"; Async { print Plait.map([1, 2], on: :fibers) { |n| sleep(0.001).then { n } } }'
    result = Support::FreshRuby.run(code, flags: ["-W0"])
    skip("async is not installed: bin/setup peers") if result.err.include?("cannot load such file -- async")
    assert_equal(["[1, 2]", ""], [result.out, result.err])
  end

  def test_async_leaves_nothing
    result = in_async(<<~RUBY, after: "puts Thread.list.size - before[0], Dir.children('/proc/self/fd').size - before[1]")
      100.times { Plait.map(1..5, on: :fibers) { sleep(0) } }
      20.times { Plait.run(on: :fibers) { |s| 3.times { s.async { sleep(0) } } } }
      20.times do
        Plait.map(1..5, on: :fibers) { |n| n == 5 ? raise(KeyError) : sleep }
      rescue KeyError
        nil
      end
      sleep(0.01)
      puts task.reactor.children.to_a.size, task.children.to_a.size
    RUBY
    reactor, tasks, threads, descriptors = result.out.split.map(&:to_i)
    assert_equal([1, 0, 0, ""], [reactor, tasks, threads, result.err])
    # Fewer when the garbage of what was there before is collected meanwhile.
    assert_operator(descriptors, :<=, 0)
  end

  private

  def in_async(code, after: "")
    result = Support::FreshRuby.run(<<~RUBY, flags: ["-W0"])
      begin
        require "async"
      rescue LoadError
        exit(77)
      end
      require "plait"
      def check(*truths) = puts(truths.map(&:inspect).join(" "))
      Async { Plait.map([1], on: :fibers) { 1 } }
      before = [Thread.list.size, (Dir.children("/proc/self/fd").size rescue 0)]
      Async do |task|
        #{code}
      end
      #{after}
    RUBY
    skip("async is not installed: bin/setup peers") if result.status.exitstatus == 77
    result
  end

  def living_fibers = ObjectSpace.each_object(Fiber).select(&:alive?)

  def nested_waits
    Support::RunQueue.seconds { Plait.map(1..5, on: :fibers) { Plait.map([ONE, ONE], on: :fibers) { |seconds| sleep(seconds) } } }
  end

  def ensuring(ended)
    yield
  ensure
    ended << 1
  end

  # Nothing in here waits.
  def compute
    limit = now + 60
    nil until now > limit
    flunk("nobody has interrupted it")
  end

  # Ends only when it is told to, whatever is raised.
  def stubborn
    sleep(0.005) until yield
  rescue Plait::Mechanisms::Interruption
    retry
  end

  def with_grace(seconds, &block) = with_constant(Plait::Mechanisms.const_get(:Fibers).const_get(:Pool), :GRACE, seconds, &block)

  def with_capacity(count)
    strands = Plait::Scheduler.const_get(:Strands)
    strands.capacity
    was = strands.instance_variable_get(:@capacity)
    strands.instance_variable_set(:@capacity, count)
    yield
  ensure
    strands.instance_variable_set(:@capacity, was)
  end

  # Ruby asks for a fiber's stack when control first passes to it.
  class Refused
    def transfer(*) = raise(FiberError, "can't set a guard page: Cannot allocate memory")
  end

  def refusing_fibers(after:)
    made = 0
    refusing = Class.new(Fiber)
    refusing.define_singleton_method(:new) do |**options, &block|
      (made += 1) > after ? Refused.new : ::Fiber.new(**options, &block)
    end
    Plait::Scheduler.const_get(:Strands).const_set(:Fiber, refusing)
    yield
  ensure
    Plait::Scheduler.const_get(:Strands).send(:remove_const, :Fiber)
  end
end
