# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/interrupts"
require "support/waiting"
require "plait/db/pool"
require "timeout"

class DBPoolTest < Minitest::Test
  include Support::Interrupts
  include Support::Waiting

  # A connection that remembers what was done with it.
  class Fake
    attr_accessor :broken
    attr_reader :closed, :abandoned

    def close = @closed = true

    def abandon = @abandoned = true
  end

  def pool(**options, &connect)
    connect ||= -> { Fake.new }
    Plait::Pool.new(**options, &connect)
  end

  def figures(pool, *names) = pool.statistics.values_at(*names)

  def assert_whole(pool, busy: 0)
    assert_equal([busy, 0], figures(pool, :busy, :waiting))
  end

  ON = { threads: { on: :threads }, fibers: { on: :fibers } }.freeze

  def test_the_newest_is_lent_again
    pool = pool(size: 2)
    first = pool.with { |connection| connection }
    assert_same(first, pool.with { |connection| connection })
    assert_equal([2, 1, 0, 1], figures(pool, :size, :idle, :busy, :connected))
  end

  def test_a_fiber_gets_in_a_block_what_it_has
    pool = pool(size: 1)
    pool.with { |outer| pool.with(timeout: 0) { |inner| assert_same(outer, inner) } }
    pool.with { |outer| pool.with { |inner| assert_same(outer, inner) } }
    assert_whole(pool)
  end

  def test_it_tells_whether_a_fiber_has_one
    pool = pool(size: 1)
    refute_predicate(pool, :lent?)
    pool.with { assert_equal([true, false], [pool.lent?, Fiber.new { pool.lent? }.resume]) }
    refute_predicate(pool, :lent?)
  end

  def test_one_that_lingers_keeps_its_place
    gone = nil
    pool = pool(size: 1, linger: ->(_, done) { gone = done })
    assert_raises(KeyError) { pool.with { raise KeyError } }
    assert_equal([0, 0, 1], figures(pool, :busy, :idle, :closing))
    waiting = Thread.new { pool.with(timeout: 60) { :served } }
    wait_until { pool.statistics[:waiting] == 1 }
    gone.call
    assert_equal(:served, waiting.value)
    assert_equal([0, 1, 0], figures(pool, :busy, :idle, :closing))
  end

  def test_one_that_is_as_good_as_new_behind_its_last_call_is_lent_again
    over = nil
    pool = pool(size: 1, linger: ->(_, done) { over = done })
    cut = nil
    assert_raises(KeyError) { pool.with { |connection| (cut = connection) && raise(KeyError) } }
    waiting = Thread.new { pool.with(timeout: 60, &:itself) }
    wait_until { pool.statistics[:waiting] == 1 }
    over.call(true)
    assert_same(cut, waiting.value)
    refute(cut.closed)
    assert_equal([1, 0, 1, 0], figures(pool, :connected, :busy, :idle, :closing))
  end

  def test_one_that_comes_back_to_a_closed_pool_is_closed
    over = nil
    pool = pool(size: 1, linger: ->(_, done) { over = done })
    cut = nil
    assert_raises(KeyError) { pool.with { |connection| (cut = connection) && raise(KeyError) } }
    pool.close
    refute(cut.closed)
    over.call(true)
    assert(cut.closed)
    assert_equal([0, 0, 0], figures(pool, :busy, :idle, :closing))
  end

  def test_one_that_was_granted_and_not_used_is_kept
    pool = pool(size: 1)
    assert_raises(KeyError) { pool.checkout(take: ->(_) { raise KeyError }) }
    pool.with { |connection| refute(connection.closed) }
    assert_equal([1, 1], figures(pool, :connected, :idle))
  end

  # It was idle for as long as before.
  def test_one_that_was_granted_and_not_used_is_still_to_be_checked
    checks = 0
    pool = pool(size: 1, check: ->(_) { checks += 1 }, check_after: 0)
    pool.with(&:itself)
    assert_raises(KeyError) { pool.checkout(take: ->(_) { raise KeyError }) }
    pool.with(&:itself)
    assert_equal(2, checks)
  end

  def test_a_linger_that_raises_loses_no_place
    pool = pool(size: 1, timeout: 1, linger: ->(*) { raise ArgumentError, "no" })
    cut = nil
    assert_raises(ArgumentError) { pool.with { |connection| (cut = connection) && raise(KeyError) } }
    assert(cut.closed)
    refute_same(cut, pool.with(&:itself))
    assert_equal([1, 0, 0], figures(pool, :idle, :busy, :closing))
  end

  # The answer to the check may still come.
  def test_one_whose_check_is_cut_is_closed
    in_growing_times(0.01, 1, 10) do |seconds|
      checking = false
      pool = pool(size: 1, check: ->(_) { checking ? sleep : true }, check_after: 0)
      first = pool.with(&:itself)
      checking = true
      assert_raises(Plait::TimeoutError) { Plait.timeout(seconds) { pool.with { flunk } } }
      assert(first.closed)
      checking = false
      refute_same(first, pool.with(&:itself))
      assert_equal([2, 1, 0], figures(pool, :connected, :idle, :busy))
    end
  end

  def test_another_fiber_of_the_thread_does_not
    pool = pool(size: 2)
    pool.with { |outer| Fiber.new { pool.with { |inner| refute_same(outer, inner) } }.resume }
    assert_whole(pool)
  end

  USE = ->(pool, *) { pool.with(&:itself) }
  # What comes before, and what is interrupted: it is given the pool and what came before.
  CUT = {
    making: [->(_) {}, USE],
    replacing: [->(pool) { pool.with { |old| old.broken = true } }, USE],
    lending: [USE, ->(pool, _) { pool.with(timeout: 1, &:itself) }],
    taking: [USE, lambda do |pool, _|
      mine = nil
      pool.checkout(take: ->(connection) { mine = connection })
    ensure
      pool.checkin(mine) if mine
    end],
    bringing_back: [:checkout.to_proc, ->(pool, connection) { pool.checkin(connection) }],
    throwing_away: [:checkout.to_proc, ->(pool, connection) { pool.discard(connection) }],
    sweeping: [USE, ->(pool, _) { pool.sweep }],
    clearing: [USE, ->(pool, _) { pool.clear }],
    closing: [USE, ->(pool, _) { pool.close }]
  }.freeze

  CUT.each do |name, (before, what)|
    define_method(:"test_an_interrupt_anywhere_while_#{name}_loses_neither_place_nor_connection") do
      each_interrupt do
        all = []
        pool = pool(size: 1, check: ->(fake) { !fake.broken }, check_after: 0) { Fake.new.tap { |fake| all << fake } }
        given = before.call(pool)
        [-> { what.call(pool, given) }, lambda do |place|
          assert_equal([0, 0], figures(pool, :busy, :waiting), place)
          assert_equal(figures(pool, :idle), [all.count { |fake| !fake.closed }], place)
        end]
      end
    end
  end

  ON.each do |name, on|
    define_method(:"test_never_more_than_size_under_#{name}") do
      pool = pool(size: 3)
      out = most = 0
      lock = Mutex.new
      Plait.map(1..60, limit: 12, **on) do
        pool.with do
          lock.synchronize { most = [most, out += 1].max }
          sleep(0.001)
          lock.synchronize { out -= 1 }
        end
      end
      assert_equal(3, most)
      assert_whole(pool)
    end

    define_method(:"test_who_asks_first_is_served_first_under_#{name}") do
      pool = pool(size: 1)
      served = []
      Plait.run(**on) do |scope|
        held = pool.checkout
        5.times do |n|
          scope.async { pool.with { served << n } }
          scope.async { wait_until { pool.statistics[:waiting] == n + 1 } }.value
        end
        pool.checkin(held)
      end
      assert_equal([0, 1, 2, 3, 4], served)
    end

    define_method(:"test_one_connection_is_never_with_two_under_#{name}") do
      pool = pool(size: 2, timeout: nil)
      crossed = Queue.new
      Plait.map(1..2_000, limit: 8, on_error: :collect, **on) do |n|
        pool.with do |connection|
          connection.broken and crossed << n
          connection.broken = true
          (n % 7).zero? ? sleep(0.0001) : Thread.pass
          connection.broken = false
          raise "no" if (n % 31).zero?
        end
      end
      assert_equal(0, crossed.size)
      assert_whole(pool)
    end

    define_method(:"test_too_late_under_#{name}") do
      longest = [0.01, 0.1, 1].lazy.map do |seconds| # the clock of the wait starts a little later than that of the limit
        pool = pool(size: 1, name: "the database")
        Plait.run(**on) do |scope|
          held = pool.checkout
          error = scope.async { assert_raises(Plait::PoolTimeout) { pool.with(timeout: seconds) { flunk } } }.value
          assert_match(/no connection of the database came free in time: all 1 \(size:\) are in use/, error.message)
          assert_predicate(error, :retry_safe?)
          pool.checkin(held)
        end
        assert_whole(pool)
        assert_equal([1, 1], figures(pool, :timeouts, :waits))
        pool.statistics[:longest_wait]
      end
      assert(longest.any? { |seconds| seconds >= 0.01 })
    end

    define_method(:"test_a_cancelled_wait_leaves_nothing_under_#{name}") do
      pool = pool(size: 1)
      Plait.run(**on) do |scope|
        held = pool.checkout
        task = scope.async { pool.with { flunk } }
        scope.async { wait_until { pool.statistics[:waiting] == 1 } }.value
        task.cancel
        scope.async { wait_until { pool.statistics[:waiting].zero? } }.value
        pool.checkin(held)
      end
      assert_equal([1, 0, 0], figures(pool, :idle, :busy, :waiting))
    end

    define_method(:"test_a_cancelled_block_closes_its_connection_under_#{name}") do
      pool = pool(size: 1, fit: ->(*) { true })
      mine = nil
      Plait.run(**on) do |scope|
        task = scope.async { pool.with { |connection| (mine = connection) && sleep(60) } }
        scope.async { wait_until { mine } }.value
        task.cancel
        scope.async { pool.with { |connection| refute_same(mine, connection) } }.value
      end
      assert(mine.closed)
      assert_whole(pool)
    end
  end

  # How a block can end, and whether its connection is kept.
  ENDS = {
    "next" => [true, ->(pool) { pool.with { |c| next c } }],
    "break" => [Plait.const_get(:Native).available?, ->(pool) { pool.with { |c| break c } }],
    "return" => [Plait.const_get(:Native).available?, ->(pool) { pool.with { |c| return c } }],
    "throw" => [false, ->(pool) { catch(:out) { pool.with { |c| throw(:out, c) } } }],
    "an error" => [false, ->(pool) { pool.with { raise "no" } }],
    "a timeout of Ruby's" => [false, ->(pool) { Timeout.timeout(0.01) { pool.with { sleep(60) } } }],
    "a timeout" => [false, ->(pool) { Plait.timeout(0.01) { pool.with { sleep(60) } } }],
    "a kill" => [false, ->(pool) { Thread.new { pool.with { Thread.current.kill } }.join }]
  }.freeze

  ENDS.each do |name, (kept, act)|
    define_method(:"test_the_block_ends_by_#{name.tr(" ", "_")}") do
      pool = pool(size: 1)
      pool.with { nil } # from now on an idle one is there
      2.times do
        act.call(pool)
      rescue StandardError
        nil
      end
      assert_equal([kept ? 1 : 0, 0, 0], figures(pool, :idle, :busy, :waiting))
      waited = Thread.new { pool.with(timeout: 1) { |connection| connection } }.value
      refute(waited.closed)
    end
  end

  def test_fit_says_what_a_refused_statement_leaves
    asked = []
    pool = pool(size: 1, fit: ->(connection, error) { asked << [connection, error.message] })
    first = pool.with { |connection| connection }
    assert_raises(RuntimeError) { pool.with { raise "duplicate key" } }
    assert_same(first, pool.with { |connection| connection })
    assert_equal([[first, "duplicate key"]], asked)
  end

  def test_a_fit_that_fails_is_a_no
    pool = pool(size: 1, fit: ->(*) { raise "dead" })
    error = assert_raises(RuntimeError) { pool.with { raise "the first" } }
    assert_equal("the first", error.message)
    assert_equal([0, 0], figures(pool, :idle, :busy))
  end

  def test_after_an_error_it_is_looked_at
    pool = pool(size: 1, fit: ->(*) { true }, check: ->(connection) { !connection.broken })
    assert_raises(RuntimeError) { pool.with { |connection| (connection.broken = true) && raise } }
    refute(pool.with(&:broken))
    assert_equal(1, pool.statistics[:stale])
  end

  def test_one_that_does_not_work_is_replaced
    pool = pool(size: 1, check_after: 0, check: ->(connection) { connection.broken ? raise("gone") : true })
    first = pool.with { |connection| connection }
    assert_same(first, pool.with { |connection| connection })
    first.broken = true
    second = pool.with { |connection| connection }
    refute_same(first, second)
    assert(first.closed)
    assert_equal([2, 1, 0], figures(pool, :connected, :stale, :busy))
  end

  class Late < StandardError; end

  # What ends the check of a connection, or its end, in a fiber or on a thread, and is the caller's.
  TIMES = {
    "a_timeout_with_a_class" => [Late, ->(seconds, &use) { Timeout.timeout(seconds, Late, &use) }],
    "a_timeout" => [Timeout::Error, ->(seconds, &use) { Timeout.timeout(seconds, &use) }],
    "a_timeout_of_ruby_3_1" => [Timeout::Error, lambda do |seconds, &use| # as its Timeout.timeout does it
      scheduler = Fiber.current_scheduler
      scheduler ? scheduler.timeout_after(seconds, Timeout::Error, "", &use) : Timeout.timeout(seconds, &use)
    end],
    "a_timeout_of_ours" => [Plait::TimeoutError, ->(seconds, &use) { Plait.timeout(seconds, &use) }]
  }.freeze
  STUCK = {
    check: { check: ->(_) { sleep(60) } },
    close: { check: ->(_) { false }, close: ->(connection) { connection.close && sleep(60) } }
  }.freeze

  TIMES.to_a.product(STUCK.to_a, ON.keys).each do |(name, (error, limit)), (where, stuck), on|
    next if where == :close && on == :threads # there nothing comes before the books are right

    define_method(:"test_#{name}_in_the_middle_of_a_#{where}_is_the_callers_under_#{on}") do
      in_growing_times(0.05, 1, 10) do |seconds|
        pool = pool(size: 1, check_after: 0, errors: [IOError], **stuck)
        first = pool.with { |connection| connection }
        Plait.run(on: on) { assert_raises(error) { limit.call(seconds) { pool.with { flunk } } } }
        assert(first.closed)
        assert_equal([0, 0, 0], figures(pool, :idle, :busy, :waiting))
      end
    end
  end

  def test_what_a_check_may_raise
    pool = pool(size: 1, check_after: 0, check: ->(fake) { fake.broken && raise(fake.broken) }, errors: [IOError])
    pool.with { |connection| connection.broken = IOError }
    pool.with { |connection| connection.broken = KeyError }
    assert_raises(KeyError) { pool.with { flunk } }
    assert_equal([2, 1, 0], figures(pool, :connected, :stale, :busy))
  end

  def test_an_old_one_is_replaced
    pool = pool(size: 1, max_lifetime: 0)
    refute_same(pool.with { |connection| connection }, pool.with { |connection| connection })
    assert_operator(pool.statistics[:retired], :>=, 1)
  end

  def test_what_is_not_used_is_closed
    pool = pool(size: 2, idle_timeout: 0)
    unused = pool.with { |connection| connection }
    pool.sweep
    assert(unused.closed)
    assert_equal([0, 0], figures(pool, :idle, :busy))
  end

  def test_what_is_not_used_is_closed_while_another_is_used
    pool = pool(size: 2, idle_timeout: 0.05)
    unused = pool.with { Fiber.new { pool.with { |connection| connection } }.resume }
    wait_until { pool.with { |connection| refute_same(unused, connection) } && unused.closed }
    assert_equal(1, pool.statistics[:idle])
    assert_operator(pool.statistics[:retired], :>=, 1) # on a busy machine the other one was not used for as long
  end

  def test_what_was_not_used_for_too_long_is_not_used_again
    pool = pool(size: 1, idle_timeout: 0.02, check_after: 60)
    unused = pool.with { |connection| connection }
    sleep(0.03)
    refute_same(unused, pool.with { |connection| connection })
    assert(unused.closed)
  end

  # Ruby never gives back a symbol that C has seen, nor a fiber the place of a variable.
  def test_pools_that_are_gone_leave_nothing
    names = lambda do
      100.times { pool(size: 1).with { nil } }
      GC.start
      Thread.current.keys.grep(/plait_pool/).size
    end
    few = names.call
    assert_operator(Array.new(20) { names.call }.last, :<, few + 500)
  end

  def test_a_connection_that_can_not_be_made_leaves_its_place
    calls = 0
    pool = pool(size: 1) { (calls += 1) < 3 ? raise(IOError, "refused") : Fake.new }
    2.times { assert_raises(IOError) { pool.with { flunk } } }
    assert_instance_of(Fake, pool.with { |connection| connection })
  end

  # Of the two who wait for the lock it is the first who is woken. Without a mask Ruby 3.1 to 3.3 at least would lose the wake-up.
  def test_the_kill_of_one_who_counts_keeps_nobody_else_waiting
    pool = pool(size: 1)
    lock = pool.instance_variable_get(:@lock).tap(&:lock)
    threads = Array.new(2) { Thread.new { pool.statistics }.tap { |thread| wait_until { thread.stop? } } }
    lock.unlock
    threads.first.kill
    assert(threads.last.join(30), "nobody wakes it")
  end

  def test_an_interrupt_as_one_goes_back_to_who_waits_for_it_loses_no_place
    pool = pool(size: 1)
    pool.with(&:itself)
    here, waiting = Thread.current, nil
    soon = TracePoint.new(:return) do |point|
      soon.disable && here.raise(KeyError) if point.method_id == :now && Thread.current.equal?(here)
    end
    assert_raises(KeyError) do
      pool.with do
        waiting = Thread.new { pool.with { 3 } }
        wait_until { pool.statistics[:waiting] == 1 }
        soon.enable
      end
    end
    assert_equal(3, waiting.join(60)&.value)
    assert_whole(pool)
  ensure
    soon.disable
  end

  def test_one_that_comes_as_its_waiter_is_killed_goes_on_to_the_next
    pool = pool(size: 1)
    held = pool.checkout
    waiter = Thread.new { pool.with { flunk } }
    wait_until { pool.statistics[:waiting] == 1 }
    late = TracePoint.new(:call) do |point|
      next unless point.method_id == :synchronized && Thread.current == waiter
      next if caller_locations.none? { |place| place.base_label == "settle" }

      late.disable
      pool.checkin(held)
    end
    late.enable
    waiter.kill.join
    assert_same(held, pool.with(timeout: 1, &:itself))
    assert_whole(pool)
  ensure
    late&.disable
  end

  def test_kills_at_any_moment
    pool = pool(size: 2, timeout: nil, check_after: 0, check: ->(*) { Thread.pass || true })
    200.times do
      threads = Array.new(4) { Thread.new { loop { pool.with { Thread.pass } } } }
      sleep(rand * 0.002)
      threads.each(&:kill).each(&:join)
      assert_whole(pool)
    end
    pool.with { pass }
  end

  def test_checkout_and_checkin
    pool = pool(size: 1)
    connection = pool.checkout
    assert_raises(Plait::PoolTimeout) { pool.checkout(timeout: 0) }
    Thread.new { pool.checkin(connection) }.join
    assert_raises(Plait::UsageError) { pool.checkin(connection) }
    pool.discard(pool.checkout)
    assert(connection.closed)
    assert_equal([0, 0], figures(pool, :idle, :busy))
  end

  def test_a_closed_pool
    pool = pool(size: 1)
    held = pool.checkout
    waiting = Thread.new { assert_raises(Plait::UsageError) { pool.with { flunk } } }
    wait_until { pool.statistics[:waiting] == 1 }
    pool.close
    assert_match(/the pool is closed/, waiting.value.message)
    pool.checkin(held)
    assert(held.closed)
    assert_raises(Plait::UsageError) { pool.with { flunk } }
  end

  # One that is lent to who forks, one that is lent to another thread, one that is idle.
  FORK = <<~RUBY
    require "plait"
    closed = []
    pool = Plait::Pool.new(size: 3, close: ->(c) { closed << c }, abandon: ->(c) { closed << :abandoned }) { Process.pid.to_s }
    pool.with do |outer|
      lent = pool.checkout
      pool.checkin(pool.checkout)
      pid = fork do
        inner = Fiber.new { pool.with { |connection| connection } }.resume
        print [inner == Process.pid.to_s, closed, pool.statistics[:busy]].inspect
        $stdout.flush
      end
      Process.wait(pid)
      pool.checkin(lent)
    end
    pool.with { |connection| print [connection == Process.pid.to_s, pool.statistics[:connected]].inspect }
  RUBY

  def test_a_fork_makes_its_own
    skip("this Ruby can't fork") unless Process.respond_to?(:fork)

    result = Support::FreshRuby.run(FORK)
    assert_equal("[true, [:abandoned, :abandoned, :abandoned], 0][true, 3]", result.out, result.err)
  end

  # A driver's object that says goodbye when it is collected.
  COLLECTED = <<~RUBY
    require "plait"
    goodbye = ->(_) { $stdout.syswrite("goodbye") }
    pool = Plait::Pool.new(close: ->(_) {}) { Object.new.tap { |one| ObjectSpace.define_finalizer(one, goodbye) } }
    held = Queue.new
    Thread.new { pool.with { |_| held << true && sleep } }
    held.pop
    pid = fork do
      3.times { Array.new(1000) { Object.new } && GC.start }
      exit!
    end
    Process.wait(pid)
    exit!
  RUBY

  def test_what_other_threads_had_is_not_collected_in_a_fork
    skip("this Ruby can't fork") unless Process.respond_to?(:fork)

    result = Support::FreshRuby.run(COLLECTED)
    assert_equal("", result.out, result.err)
  end

  DAEMON = <<~RUBY
    require "plait"
    pool = Plait::Pool.new(close: ->(_) {}, abandon: ->(_) { $stdout.syswrite("abandoned ") }) { Process.pid }
    pool.with { nil }
    out = $stdout.dup
    Process.daemon(true, true)
    out.syswrite(pool.with { |connection| connection == Process.pid }.to_s)
  RUBY

  def test_a_daemon_makes_its_own
    skip("this Ruby can't fork") unless Process.respond_to?(:fork)

    result = Support::FreshRuby.run(DAEMON)
    assert_equal("abandoned true", result.out, result.err)
  end

  # A collection that leaves the sweeping for later.
  DEAD = <<~RUBY
    require "plait"
    dead = Class.new { def abandon = $stdout.syswrite(".") }
    20_000.times { Plait::Pool.watch_forks(dead.new) }
    GC.start(immediate_sweep: false)
    Process.wait(fork { exit! })
  RUBY

  def test_a_fork_finds_no_connection_that_is_collected
    skip("this Ruby can't fork") unless Process.respond_to?(:fork)

    result = Support::FreshRuby.run(DEAD)
    assert_operator(result.out.size, :<, 20, result.err) # a machine register may hold some
  end

  # From Ruby 3.3 on a finalizer runs in the ractor that has collected the garbage.
  NAMES = <<~RUBY
    require "plait"
    require "support/ractors"
    require "support/waiting"
    names = Plait::Pool.const_get(:Keys)
    Thread.new { 50.times { Plait::Pool.new { 1 } } }.join
    own = Ractor.new { 3.times { GC.start } }
    Support::Ractors.value(own)
    Support::Waiting.wait_until(what: "their names") { GC.start || names.instance_variable_get(:@free).size > 40 }
    print("free")
  RUBY

  def test_names_are_free_again_whichever_ractor_collects_a_pool
    skip("this Ruby has no ractors") unless defined?(Ractor)

    result = Support::FreshRuby.run(NAMES, flags: ["-W0"])
    assert_equal(["free", ""], [result.out, result.err])
  end

  CLOSED = <<~RUBY
    require "plait"
    pool = Plait::Pool.new(size: 1) { Object.new }
    pool.close
    begin
      pool.with { print "lent" }
    rescue Plait::UsageError
      print "closed"
    end.then { Process.wait(fork { pool.with { print " lent" } rescue print(" closed") }) }
  RUBY

  def test_a_closed_pool_stays_closed_in_a_fork
    skip("this Ruby can't fork") unless Process.respond_to?(:fork)

    result = Support::FreshRuby.run(CLOSED)
    assert_equal("closed closed", result.out, result.err)
  end

  { size: [0, 1.5, nil], timeout: [-1, "5"], check: [5], check_after: [nil], errors: [nil, [5]],
    max_lifetime: [-1] }.each do |option, values|
    define_method(:"test_a_wrong_#{option}") do
      values.each { |value| assert_match(/\A#{option}: /, assert_raises(Plait::UsageError) { pool(option => value) }.message) }
    end
  end
end
