# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/ractors"
require "support/refused_thread"
require "plait"
require "etc"
require "minitest/mock"
require "stringio"
require "tmpdir"
require "timeout"

# What people do to a run that nobody meant: each ends, and says why.
class MisuseTest < Minitest::Test
  LIMIT = 60
  # The number of a user who may nothing.
  NOBODY = 65_534

  # --- A body that forks

  # The child goes on in the block, and must not go on with the run.
  {
    "item whose child exits" => ["(pid = fork) || exit(3)", 3],
    "item whose child returns" => ["(pid = fork) || next", 0],
    "offloaded block whose child exits" => ["pid = Plait.offload { fork || exit(3) }", 3],
    "offloaded block whose child returns" => ["pid = Plait.offload { fork } || next", 0]
  }.each do |name, (forking, status)|
    define_method(:"test_an_#{name.tr(" ", "_")}") do
      hosts = [":threads", ":fibers", ":hybrid", ":auto", ":auto, among: [:fibers]"]
      hosts.product(["", "on_error: :collect", "timeout: 60"]) do |on, option|
        result = Support::FreshRuby.run(<<~RUBY)
          require "plait"
          $stdout.sync = true
          parent = Process.pid
          Plait.map([*1..6], on: #{on}, limit: 2, #{option}) do |n|
            puts "item \#{n} in a child" unless Process.pid == parent
            next unless n == 1
            #{forking}
            puts Process.wait2(pid).last.exitstatus
          end
        RUBY
        assert_equal(["#{status}\n", ""], [result.out, result.err], [on, option])
      end
    end
  end

  { "exits" => ["exit(3)", 3], "returns" => ["next", 0] }.each do |name, (ending, status)|
    define_method(:"test_a_task_whose_child_#{name}") do
      %i[threads fibers hybrid].each do |on|
        result = Support::FreshRuby.run(<<~RUBY)
          require "plait"
          $stdout.sync = true
          parent = Process.pid
          Plait.run(on: :#{on}, limit: 1) do |scope|
            scope.async { (pid = fork) ? puts(Process.wait2(pid).last.exitstatus) : #{ending} }
            scope.async { puts "a task in a child" unless Process.pid == parent }
          end
          puts "the end in a child" unless Process.pid == parent
        RUBY
        assert_equal(["#{status}\n", ""], [result.out, result.err], on)
      end
    end
  end

  def test_an_item_on_a_process_whose_child_returns
    outcomes = Plait.map(1..6, on: :processes, limit: 2, on_error: :collect) do |n|
      next n unless n == 1

      (pid = fork) || next
      Process.wait2(pid).last.exitstatus
    end
    assert_equal([0, 2, 3, 4, 5, 6], outcomes.map(&:value))
  end

  def test_an_item_on_a_process_whose_child_exits
    assert_equal([3, 3], Plait.map(1..2, on: :processes) { fork ? Process.wait2.last.exitstatus : exit(3) })
  end

  { "exits" => [-> { exit(3) }, 3], "returns" => [-> {}, 0] }.each do |name, (ending, status)|
    define_method(:"test_a_task_in_a_process_whose_child_#{name}") do
      Plait.run(on: :processes) do |scope|
        task = scope.async { fork ? Process.wait2.last.exitstatus : ending.call }
        assert_equal(status, task.value)
      end
    end
  end

  # --- A body that ends its own thread

  def test_a_body_that_ends_its_thread_fails_alone
    [-> { Thread.exit }, -> { Thread.current.kill }].each do |ending|
      assert_no_leaks do
        outcomes = within { Plait.map(1..50, on: :threads, limit: 2, on_error: :collect) { |n| n % 10 == 3 ? ending.call : n } }
        assert_equal([Plait::WorkerDied], outcomes.filter_map(&:error).map(&:class).uniq)
        assert_equal((1..50).reject { |n| n % 10 == 3 }, outcomes.filter_map(&:value))
      end
    end
  end

  def test_a_worker_that_is_killed_from_outside
    victim = Queue.new
    killer = Thread.new { victim.pop.kill }
    error = within do
      assert_raises(Plait::WorkerDied) { Plait.map([1, 2], on: :threads) { |n| n == 1 ? victim.push(Thread.current).then { sleep } : n } }
    end
    assert_match(/ran item 0 ended before it answered/, error.message)
  ensure
    killer.join
  end

  # Ends its thread the first two times.
  def fleeting(path)
    File.write(path, "x", mode: "a")
    File.size(path) < 3 ? Thread.exit : :stayed
  end

  def test_retries_cover_a_block_that_ends_its_thread
    [:threads, %i[processes threads]].each do |on|
      Dir.mktmpdir do |folder|
        outcomes = within do
          Plait.map(1..5, on: on, limit: 2, on_error: :collect, retries: { count: 2, base: 0.001 }) do |n|
            n == 3 ? fleeting("#{folder}/log") : n
          end
        end
        assert_equal([[1, 1], [2, 1], [:stayed, 3], [4, 1], [5, 1]], outcomes.map { |outcome| [outcome.value, outcome.attempts] })
      end
    end
  end

  def test_retries_of_a_block_that_always_ends_its_thread
    assert_no_leaks do
      outcome, = within { Plait.map([1], on: :threads, on_error: :collect, retries: { count: 3, base: 0.001 }) { Thread.exit } }
      assert_equal([Plait::WorkerDied, 4], [outcome.error.class, outcome.attempts])
      outcome, = within do
        Plait.map([1], on: :threads, on_error: :collect, retries: { count: 3, base: 0.001, on: KeyError }) { Thread.exit }
      end
      assert_equal(1, outcome.attempts)
    end
  end

  # Errors and deaths are counted together.
  def test_retries_of_a_block_that_fails_in_different_ways
    tries = 0
    outcome, = within do
      Plait.map([1], on: :threads, on_error: :collect, retries: { count: 3, base: 0.001 }) do
        (tries += 1).odd? ? raise("odd") : Thread.exit
      end
    end
    assert_equal([4, 4, Plait::WorkerDied], [tries, outcome.attempts, outcome.error.class])
  end

  def test_retries_of_a_task_that_ends_its_thread
    Dir.mktmpdir do |folder|
      value = within do
        Plait.run(on: :threads, retries: { count: 2, base: 0.001 }) { |scope| scope.async { fleeting("#{folder}/log") }.value }
      end
      assert_equal(:stayed, value)
    end
    error = assert_raises(Plait::WorkerDied) do
      within { Plait.run(on: :threads, retries: { count: 2, base: 0.001 }) { |scope| scope.async { Thread.exit }.value } }
    end
    assert_match(/its block ended it/, error.message)
  end

  def test_a_task_that_ends_its_thread
    assert_raises(Plait::WorkerDied) { within { Plait.run(on: :threads) { |scope| scope.async { Thread.exit }.value } } }
  end

  # --- Errors whose message is not simple

  def test_errors_that_ruby_explains
    { NameError => ->(_) { no_such_name }, NoMethodError => ->(_) { nil.no_such_method },
      KeyError => ->(_) { { a: 1 }.fetch(:b) }, LoadError => ->(_) { require "no/such/file" } }.each do |kind, body|
      %i[sequence threads fibers processes].each do |on|
        error = assert_raises(kind, on) { Plait.map([7], on: on, &body) }
        [error.message, error.inspect, error.full_message(highlight: false)].each { |text| assert_match(/item 0: 7/, text) }
      end
    end
  end

  def test_messages_in_any_encoding
    odd = Class.new { def inspect = "\xFF".b }
    { "é" => "q \xFF".b, "ü" => "text".encode("UTF-16LE"), odd.new => "é", "x" * 1_000_000 => "a",
      ([0] * 1_000_000) => "a" }.each do |item, text|
      error = assert_raises(RuntimeError) { Plait.map([item], on: :sequence) { raise text } }
      assert_predicate(error.message, :valid_encoding?)
      assert_match(/\(item 0: .{1,80}\)\z/, error.message)
    end
  end

  def test_a_recursion_without_end_is_the_items_own
    endless = ->(n) { n == 2 ? endless.call(n) : n }
    outcomes = Plait.map([1, 2, 3], on: :threads, on_error: :collect, &endless)
    assert_equal([nil, SystemStackError, nil], outcomes.map { |outcome| outcome.error&.class })
  end

  def test_the_first_of_many_processes
    Dir.mktmpdir do |folder|
      Plait.first((1..300).to_a, on: :processes) do |n|
        File.write(File.join(folder, Process.pid.to_s), "")
        sleep(0.05)
        n
      end
      assert_operator(Dir.children(folder).size, :<=, Etc.nprocessors)
    end
  end

  # --- One mechanism after another

  # In a process of its own each: what the first leaves behind in Ruby must not be in the second's way.
  def test_every_mechanism_after_every_other
    Support::Ractors.with_threads_needed
    names = %w[sequence threads fibers hybrid ractors processes]
    names.each do |first|
      result = Support::FreshRuby.run(<<~RUBY)
        require "plait"
        #{names.inspect}.each do |second|
          [:#{first}, second.to_sym].each { |on| print Plait.map([1, 2], on: on) { |n| n + 1 }.sum, " " }
        end
        ractor = Ractor.new { Thread.new { IO.pipe.each(&:close).size }.value }
        p ractor.respond_to?(:value) ? ractor.value : ractor.take
      RUBY
      assert_equal("#{"5 5 " * names.size}2\n", result.out, "#{first} first: #{result.err}")
    end
  end

  def test_fibers_in_a_ractor
    Support::Ractors.needed
    %i[fibers hybrid].each do |on|
      error = assert_raises(Plait::UnsupportedError) { Plait.map([on], on: :ractors) { |inner| Plait.map([1], on: inner) { |n| n } } }
      assert_match(/the caller is in a ractor.*on: :threads/, error.message)
    end
  end

  # --- An enumeration that is asked from outside

  def test_external_enumeration
    %i[sequence threads fibers hybrid].each do |on|
      assert_no_leaks do
        results = Plait.each_result(1..3, on: on, limit: 1) { |n| n * n }
        assert_equal([1, 4, 9], Array.new(3) { within { results.next.value } }, on)
        assert_raises(StopIteration) { results.next }
        assert_equal([[:a, 1], [:b, 4], [:c, 9]], %i[a b c].zip(results).map { |letter, outcome| [letter, outcome.value] }, on)
      end
      assert_equal([1], Plait.map([1], on: on) { |n| n }, "the thread is as it was")
    end
  end

  def test_an_error_of_an_external_enumeration
    results = Plait.each_result([1], on: :fibers) { raise KeyError }
    assert_raises(KeyError) { results.next }
    assert_equal([1], Plait.map([1], on: :fibers) { |n| n })
  end

  def test_an_enumerator_can_be_used_again
    seen = []
    results = Plait.each_result([1, 2], on: :sequence, deadline: 60, progress: ->(*all) { seen << all }) { |n| n }
    assert_equal([[1, 2], [1, 2]], Array.new(2) { results.map(&:value) })
    assert_equal([[1, 2], [2, 2]] * 2, seen)
  end

  # --- Ways to leave

  def test_break_and_throw_end_the_tasks_of_a_scope
    ended = Queue.new
    assert_no_leaks do
      waiting = lambda do |scope|
        begun = Queue.new
        scope.async do
          begun << 1
          sleep(LIMIT)
        ensure
          ended << 1
        end
        begun.pop
      end
      assert_equal(5, Plait.run(on: :threads) { |scope| waiting.call(scope) and break 5 })
      assert_equal(6, catch(:out) { Plait.run(on: :threads) { |scope| waiting.call(scope) and throw(:out, 6) } })
    end
    assert_equal(2, ended.size)
  end

  def test_a_throw_out_of_the_fiber_of_a_scope
    ended = []
    leaving = lambda do
      Plait.run(on: :fibers) do |scope|
        begun = false
        scope.async { (ended << 1) && (begun = true) && sleep }
        sleep(0.001) until begun
        throw(:out, 6)
      end
    end
    assert_equal(6, catch(:out) { within { leaving.call } })
    assert_equal(:out, assert_raises(UncaughtThrowError) { within { leaving.call } }.tag)
    assert_equal([1, 1], ended)
  end

  def test_tasks_for_which_the_system_has_no_thread
    none = ->(*) { raise ThreadError, "can't create Thread: Resource temporarily unavailable" }
    values = within do
      Plait.run(on: :threads) do |scope|
        gate = Queue.new
        first = scope.async { gate.pop }
        others = scope.stub(:start, none) { Array.new(3) { |n| scope.async { n } } }
        gate << :first
        [first, *others].map(&:value)
      end
    end
    assert_equal([:first, 0, 1, 2], values)
    error = assert_raises(Plait::UnsupportedError) do
      within { Plait.run(on: :threads) { |scope| scope.stub(:start, none) { scope.async { 1 }.value } } }
    end
    assert_match(/no thread for a task .*ulimit -u/, error.message)
  end

  # --- Where the system gives no more threads

  def test_items_on_the_threads_that_there_are
    gone = ->(count) { Enumerator.new { |items| 20.times { |n| (no_more_threads if n == count).then { items << n } } } }
    values = in_a_poor_process { Plait.map(gone.call(2), on: :threads) { |n| sleep(0.001) && n } }
    assert_equal((0...20).to_a, values)
    values = in_a_poor_process { Plait.each_result(gone.call(1), on: :threads) { |n| n }.map(&:value).sort }
    assert_equal((0...20).to_a, values)
  end

  def test_no_thread_at_all
    { "the items" => -> { Plait.map([1], on: :threads) { |n| n } },
      "a task" => -> { Plait.run(on: :threads) { |scope| scope.async { 1 } } },
      "Plait.offload" => -> { Plait.map([1], on: :hybrid) { Plait.offload { 1 } } },
      "an event loop" => -> { Fiber.new { Plait.map([1], on: :fibers) { |n| n } }.resume } }.each do |purpose, run|
      error, message = in_a_poor_process { no_more_threads || run.call }
      assert_equal("Plait::UnsupportedError", error, message)
      assert_match(/gives no thread for #{purpose} .*ulimit -u/, message)
    end
  end

  # It holds the only thread of the pool until all have come, and ends it.
  def test_an_offloaded_block_that_ends_the_last_thread
    errors = in_a_poor_process do
      Plait.map([1, 2, 3], on: :fibers, on_error: :collect) do |n|
        next sleep(0.01) && Plait.offload { n } if n > 1

        Plait.offload { no_more_threads.then { sleep(0.2) }.then { Thread.exit } }
      end.map { |outcome| outcome.error&.class&.name }
    end
    given = %w[Plait::UnsupportedError] * 2 # or else Ruby has kept the thread's thread for another
    assert_includes([["Plait::WorkerDied", *given], ["Plait::WorkerDied", nil, nil]], errors)
  end

  def test_an_offloaded_block_is_cancelled_all_the_same
    errors = in_a_poor_process do
      Plait.map([1, 2], on: :fibers, timeout: 0.2, on_error: :collect) do
        Plait.offload { no_more_threads.then { sleep } }
      end.map { |outcome| outcome.error.class.name }
    end
    assert_equal(["Plait::TimeoutError"] * 2, errors)
  end

  # The source's part; those under way have it anyhow.
  def test_a_deadline_ends_a_source_that_waits
    %i[sequence threads fibers].each do |on|
      source = -> { Enumerator.new { |items| 2.times { |n| items << n }.then { sleep(LIMIT) } } }
      assert_no_leaks do
        outcomes = within { Plait.each_result(source.call, on: on, limit: 1, deadline: 3, on_error: :collect) { |n| n }.to_a }
        assert_equal([0, 1], outcomes.map(&:value), on)
        assert_raises(Plait::DeadlineExceeded, on) { within { Plait.map(source.call, on: on, limit: 1, deadline: 0.5) { |n| n } } }
      end
    end
  end

  def test_that_deadline_leaves_other_time_limits_alone
    within do
      outcome = Plait.each_result(1.step, on: :sequence, deadline: 50, timeout: 0.1, on_error: :collect) { sleep(LIMIT) }.first
      assert_kind_of(Plait::TimeoutError, outcome.error)
      seen = Plait.each_result(1.step, on: :threads, deadline: 50, limit: 1) { |n| n }.map do |_|
        break assert_raises(Plait::TimeoutError) { Plait.timeout(0.1) { sleep(LIMIT) } }
      end
      assert_match(/no end after/, seen.message)
    end
  end

  def test_that_deadline_swallows_nobody_elses
    source = Enumerator.new { |items| items << 1 and raise(Plait::DeadlineExceeded, "the source's") }
    error = assert_raises(Plait::DeadlineExceeded) do
      Plait.map(source, on: :threads, deadline: 50, on_error: :collect) { |n| n }
    end
    assert_equal("the source's", error.message)
    error = assert_raises(Plait::DeadlineExceeded) do
      Plait.each_result(1.step, on: :sequence, deadline: 50, on_error: :collect) { |n| n }.each { raise Plait::DeadlineExceeded, "mine" }
    end
    assert_equal("mine", error.message)
  end

  def test_a_thread_that_ends_takes_no_process_along
    pair = %i[processes threads]
    outcomes = within { Plait.map(1..20, on: pair, limit: 4, on_error: :collect) { |n| n.odd? ? Thread.exit : n } }
    assert_equal((1..20).select(&:even?), outcomes.filter_map(&:value))
    assert(outcomes.filter_map(&:error).all? { |error| error.message.include?("its block ended it") })
  end

  # --- Arguments

  def test_retries
    [{ base: "x" }, { base: -1 }, { factor: nil }, { max: Float::NAN }, { jitter: 5 }, { jitter: -0.1 }, { on: "x" },
     { on: [] }, { on: [KeyError, 1] }, { on: String }, { count: 1.5 }].each do |wrong|
      error = assert_raises(Plait::UsageError, wrong) { Plait.map([1], on: :threads, retries: { count: 1, **wrong }) { raise "a" } }
      assert_match(/\Aretries: /, error.message)
    end
  end

  def test_timeouts
    [nil, "2", Float::NAN, Complex(1, 1)].each { |wrong| assert_raises(Plait::UsageError, wrong.inspect) { Plait.timeout(wrong) { 1 } } }
    assert_raises(Plait::UsageError) { Plait.timeout(1) }
    assert_raises(Plait::UsageError) { Plait.offload }
  end

  def test_options_that_a_scope_has_no_use_for
    assert_raises(Plait::UsageError) { Plait.run(on: :threads, limit: [1, 1]) { nil } }
    assert_raises(Plait::UsageError) { Plait.run(on: :threads, progress: ->(*) {}) { nil } }
    assert_raises(Plait::UsageError) { Plait.run(on: :fibers, on_error: :skip) { nil } }
    assert_equal(3, Plait.run(on: %i[processes threads], limit: [1, 2]) { |scope| scope.async { 3 }.value })
  end

  def test_the_bytes_of_a_file_are_no_number_of_items
    totals = []
    Plait.map(StringIO.new("a\nb\n"), on: :sequence, progress: ->(_, total) { totals << total }) { |line| line }
    assert_equal([nil, nil], totals)
  end

  private

  def within(&block) = Timeout.timeout(LIMIT, &block)

  # Root may have as many as it likes.
  def no_more_threads = Process.setrlimit(:NPROC, 1)

  # @return [Object] what the block returns in a child process that may be refused threads; the class and the message of what
  #   it raises
  def in_a_poor_process(&block)
    skip("no limit on threads here") unless Process.const_defined?(:RLIMIT_NPROC) && RUBY_PLATFORM.include?("linux")
    Support::RefusedThread.need_survival

    here, there = IO.pipe
    pid = fork { Marshal.dump(answer_of(&block), there).then { exit!(0) } }
    there.close
    within { Marshal.load(here) }
  ensure
    here&.close
    pid && Process.kill(:KILL, pid) && Process.wait(pid)
  end

  # With all files loaded that it needs: it may not be allowed to read them. (To use them would leave threads behind that Ruby
  # keeps for later.)
  def answer_of
    require "plait/mechanisms/offload"
    Process::Sys.setuid(NOBODY) if Process.uid.zero?
    yield
  rescue Exception => e
    [e.class.name, e.message]
  end
end
