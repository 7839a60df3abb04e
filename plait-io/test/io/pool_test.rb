# frozen_string_literal: true

require "test_helper"
require "support/interrupts"
require "support/io_cases"

class IoPoolTest < Minitest::Test
  include IoCases
  include Support::Interrupts

  Pool = Plait.const_get(:Io)::Pool

  # A connection that only remembers.
  class Fake
    attr_accessor :stale
    attr_reader :number, :closed, :abandoned

    @count = 0
    class << self
      attr_accessor :count
    end

    def initialize = @number = (Fake.count += 1)

    def close = @closed = true

    def closed? = @closed || false

    def abandon = @abandoned = true

    def stale? = @stale || false
  end

  CONNECT = -> { Fake.new }

  # Another thread has the pool's lock.
  def test_a_fiber_that_is_cancelled_as_it_gives_one_back_loses_no_place
    pool = Pool.new(per_key: 1)
    Plait.run(on: :fibers) do |scope|
      task = scope.async do
        connection = pool.checkout(:k, &CONNECT)
        holder = Thread.new { pool.instance_variable_get(:@lock).synchronize { sleep(0.1) } }
        Thread.pass until holder.stop?
        pool.checkin(connection)
      end
      scope.async { task.cancel }
    end
    assert_equal([0, 1], pool.statistics.values_at(:busy, :idle))
  end

  everywhere("the newest is used first") do
    pool = Pool.new
    a, b = Array.new(2) { pool.checkout(:k, &CONNECT) }
    pool.checkin(a)
    pool.checkin(b)
    assert_same(b, pool.checkout(:k) { flunk })
    assert(pool.reused?(b))
    assert_same(a, pool.checkout(:k) { flunk })
    refute(pool.reused?(pool.checkout(:k, &CONNECT)))
    assert_equal({ connected: 3, reused: 2 }, pool.statistics.slice(:connected, :reused))
  end

  everywhere("a new one, where an old one would not do") do
    pool = Pool.new(per_key: 1)
    pool.checkin(old = pool.checkout(:k, &CONNECT))
    pool.checkin(new = pool.checkout(:k, renew: true, &CONNECT))
    assert_equal([true, false], [old.closed?, new.closed?])
    assert_same(new, pool.checkout(:k) { flunk })
    assert(pool.reused?(new))
  end

  # A literal would make a Hash in the `ensure`, and a kill may come there.
  NEVER = { Object => :never }.freeze

  # As its users: keeps a connection whose use came to its end.
  def self.with(pool, key, connect = CONNECT, deadline: nil)
    connection = nil
    pool.checkout(key, deadline: deadline, take: ->(taken) { connection = taken }, &connect)
    value = yield connection
    finished = true
    value
  ensure
    Thread.handle_interrupt(NEVER) { pool.public_send(finished ? :checkin : :discard, connection) if connection }
  end

  USE = ->(pool, connect, *) { with(pool, :k, connect, &:itself) }
  HOLD = ->(pool, connect) { pool.checkout(:k, &connect) }
  # What comes before, and what is interrupted: it is given the pool, how to connect, and what came before.
  CUT = {
    making: [->(*) {}, USE],
    making_in_anothers_place: [->(pool, connect) { with(pool, :j, connect, &:itself) }, USE],
    replacing: [->(pool, connect) { with(pool, :k, connect) { |old| old.stale = true } }, USE],
    bringing_back: [HOLD, ->(pool, _, connection) { pool.checkin(connection) }],
    throwing_away: [HOLD, ->(pool, _, connection) { pool.discard(connection) }],
    clearing: [USE, ->(pool, *) { pool.clear }],
    closing: [USE, ->(pool, *) { pool.close }]
  }.freeze

  CUT.each do |name, (before, what)|
    define_method(:"test_an_interrupt_anywhere_while_#{name}_loses_neither_place_nor_connection") do
      each_interrupt do
        all = []
        connect = -> { Fake.new.tap { |fake| all << fake } }
        pool = Pool.new(max: 1, check_after: 0)
        given = before.call(pool, connect)
        [-> { what.call(pool, connect, *given) }, lambda do |place|
          assert_equal([0, 0], pool.statistics.values_at(:busy, :waiting), place)
          assert_equal(pool.statistics[:idle], all.count { |fake| !fake.closed? }, place)
        end]
      end
    end
  end

  # A mask of the pool's own would go before the caller's.
  def test_an_interrupt_that_the_caller_has_masked_does_not_come_while_a_connection_is_made
    asked = Queue.new
    sent = Queue.new
    connect = -> { [asked << true, sent.pop, sleep(0.01), Fake.new].last }
    pool = Pool.new
    thread = Thread.new { Thread.handle_interrupt(RuntimeError => :never) { with(pool, :k, connect) { asked << :made } } }
    thread.report_on_exception = false
    asked.pop
    thread.raise(RuntimeError, "late")
    sent << true
    assert_raises(RuntimeError) { thread.join }
    assert_equal(:made, asked.pop(true))
  end

  def test_keys_are_kept_apart
    pool = Pool.new
    pool.checkin(a = pool.checkout(:a, &CONNECT))
    refute_same(a, pool.checkout(:b, &CONNECT))
    assert_same(a, pool.checkout(:a) { flunk })
  end

  def test_a_connection_that_was_closed_meanwhile_is_not_kept
    pool = Pool.new
    with(pool, :k, &:close)
    assert_equal([0, 0], pool.statistics.values_at(:idle, :busy))
  end

  def test_brought_back_twice
    pool = Pool.new
    pool.checkin(connection = pool.checkout(:k, &CONNECT))
    assert_raises(Plait::UsageError) { pool.checkin(connection) }
    pool.discard(connection)
    refute(connection.closed)
  end

  everywhere("a failed connect gives its place back") do
    pool = Pool.new(per_key: 1)
    2.times { assert_raises(ArgumentError) { pool.checkout(:k) { raise ArgumentError } } }
    pool.checkout(:k, &CONNECT)
  end

  everywhere("the bound for a key, and its timeout") do
    pool = Pool.new(per_key: 2)
    2.times { pool.checkout(:k, &CONNECT) }
    error = assert_raises(Plait::PoolTimeout) { pool.checkout(:k, deadline: within(0.03)) { flunk } }
    assert_match(/k came free in time: 2 of 2 for it \(per_key:\), 2 of 256 in all/, error.message)
    assert_predicate(error, :retry_safe?)
    assert_equal([0, 2, 0, 1], pool.statistics.values_at(:idle, :busy, :waiting, :timeouts))
    pool.checkout(:other, &CONNECT)
  end

  everywhere("the bound in all closes an idle one of another key") do
    pool = Pool.new(max: 2)
    old, new = %i[a b].map { |key| pool.checkout(key, &CONNECT) }
    pool.checkin(old)
    pool.checkin(new)
    pool.checkout(:c, &CONNECT)
    assert_equal([true, nil], [old.closed, new.closed])
    assert_equal(1, pool.statistics[:evicted])
  end

  everywhere("idle ones are so many and no more") do
    pool = Pool.new(max_idle: 2)
    all = Array.new(4) { |number| pool.checkout(number % 3, &CONNECT) }
    all.each { |connection| pool.checkin(connection) }
    assert_equal([true, true, false, false], all.map(&:closed?))
    assert_equal({ idle: 2, busy: 0, evicted: 2 }, pool.statistics.slice(:idle, :busy, :evicted))
    assert_equal(0, Pool.new(max_idle: 0).tap { |none| none.checkin(none.checkout(:k, &CONNECT)) }.statistics[:idle])
  end

  everywhere("idle ones give their descriptors to one that finds none") do
    pool = Pool.new
    idle = Array.new(3) { |number| pool.checkout(number, &CONNECT) }
    idle.each { |connection| pool.checkin(connection) }
    pool.checkout(:new) do
      idle.all?(&:closed?) ? Fake.new : raise(Plait::ConnectError.new("none left", causes: [Errno::EMFILE.new]))
    end
    assert_equal({ idle: 0, busy: 1 }, pool.statistics.slice(:idle, :busy))
    tries = 0
    assert_raises(Plait::ConnectError) do
      pool.checkout(:k) { (tries += 1) && raise(Plait::ConnectError.new("none left", causes: [Errno::EMFILE.new])) }
    end
    assert_equal([2, 1], [tries, pool.statistics[:busy]])
  end

  def test_half_of_the_descriptors_are_for_others
    soft, hard = Process.getrlimit(:NOFILE)
    Process.setrlimit(:NOFILE, 200, hard)
    pool = Pool.new
    all = Array.new(150) { |number| pool.checkout(number, &CONNECT) }
    all.each { |connection| pool.checkin(connection) }
    assert_equal(100, pool.statistics[:idle])
  ensure
    Process.setrlimit(:NOFILE, soft, hard)
  end

  def test_the_oldest_of_all_makes_room
    pool = Pool.new(max: 3)
    first, second = Array.new(2) { pool.checkout(:a, &CONNECT) }
    [first, second, pool.checkout(:b, &CONNECT)].each { |connection| pool.checkin(connection) }
    pool.checkout(:c, &CONNECT)
    assert_equal([true, nil], [first.closed, second.closed])
    assert_same(second, pool.checkout(:a) { flunk })
  end

  everywhere("who waits is served in order") do |mechanism|
    pool = Pool.new(per_key: 1)
    held = pool.checkout(:k, &CONNECT)
    order = []
    waiters = Array.new(5) do |n|
      waiter = mechanism.beside { with(pool, :k, deadline: within(30)) { order << n } }
      wait_until { pool.statistics[:waiting] == n + 1 }
      waiter
    end
    pool.checkin(held)
    waiters.each(&:call)
    assert_equal([0, 1, 2, 3, 4], order)
    assert_equal(1, pool.statistics[:connected])
  end

  everywhere("who comes later does not overtake") do |mechanism|
    pool = Pool.new(per_key: 1)
    held = pool.checkout(:k, &CONNECT)
    waiter = mechanism.beside { pool.checkout(:k, deadline: within(30), &CONNECT) }
    wait_until { pool.statistics[:waiting] == 1 }
    pool.discard(held)
    assert_raises(Plait::PoolTimeout) { pool.checkout(:k, deadline: within(0), &CONNECT) }
    waiter.call
  end

  everywhere("a connection that is closed gives its place to who waits") do |mechanism|
    pool = Pool.new(per_key: 1)
    held = pool.checkout(:k, &CONNECT)
    waiter = mechanism.beside { pool.checkout(:k, deadline: within(30), &CONNECT) }
    wait_until { pool.statistics[:waiting] == 1 }
    pool.discard(held)
    refute_same(held, waiter.call)
  end

  # Else a busy key would starve one that waits for room in the pool.
  everywhere("keys that wait for room take turns with one that is busy") do |mechanism|
    pool = Pool.new(max: 1)
    held = pool.checkout(:busy, &CONNECT)
    order = []
    waiters = %i[a busy b a].map.with_index do |key, n|
      waiter = mechanism.beside { with(pool, key, deadline: within(30)) { order << n } }
      wait_until { pool.statistics[:waiting] == n + 1 }
      waiter
    end
    pool.checkin(held)
    waiters.each(&:call)
    assert_equal([0, 1, 2, 3], order.sort)
    assert_equal(0, order.first)
    assert_equal([1, 0, 0], pool.statistics.values_at(:idle, :busy, :waiting))
  end

  everywhere("no place is lost when a waiter times out just as it is served") do |mechanism|
    pool = Pool.new(per_key: 2)
    workers = Array.new(8) do |n|
      mechanism.beside do
        40.times do |m|
          with(pool, :k, deadline: within(0.0005 * ((n + m) % 4))) { sleep(0.0005 * (m % 3)) }
        rescue Plait::PoolTimeout
          nil
        end
      end
    end
    workers.each(&:call)
    assert_intact(pool, 2)
  end

  def test_no_place_is_lost_when_threads_are_killed_at_any_point
    pool = Pool.new(per_key: 2, max: 3)
    60.times do |round|
      threads = Array.new(6) { |n| Thread.new { loop { with(pool, n % 2) { sleep(0.0001) } } } }
      sleep(0.001 + (round % 7 * 0.0003))
      threads.each(&:kill).each(&:join)
    end
    assert_intact(pool, 3)
  end

  def test_no_place_is_lost_when_fibers_are_cancelled
    pool = Pool.new(per_key: 2)
    worker = -> { loop { with(pool, :k) { sleep(0.0005) } } }
    60.times do |round|
      Plait.run(on: :fibers) do
        Plait.timeout(0.001 + (round % 7 * 0.0005)) { Plait.run(on: :fibers) { |scope| 6.times { scope.async(&worker) } } }
      end
    rescue Plait::TimeoutError
      nil
    end
    assert_intact(pool, 2)
  end

  def test_threads_and_fibers_wait_in_one_queue
    pool = Pool.new(per_key: 2)
    counts = Queue.new
    busy = Queue.new
    work = lambda do
      200.times do
        with(pool, :k, deadline: within(60)) do
          counts << (busy << 1).size
          sleep(0.0001)
          busy.pop
        end
      end
    end
    loops = Array.new(2) { Thread.new { Plait.run(on: :fibers) { |scope| 4.times { scope.async(&work) } } } }
    (Array.new(3) { Thread.new(&work) } + loops).each(&:join)
    assert_operator(Array.new(counts.size) { counts.pop }.max, :<=, 2)
    assert_intact(pool, 2)
  end

  everywhere("a stale one is replaced in its place") do
    pool = Pool.new(per_key: 1, check_after: 0)
    pool.checkin(old = pool.checkout(:k, &CONNECT))
    old.stale = true
    sleep(0.001)
    fresh = pool.checkout(:k, deadline: within(0), &CONNECT)
    refute_same(old, fresh)
    assert(old.closed)
    assert_equal([0, 1, 1], pool.statistics.values_at(:idle, :busy, :stale))
  end

  def test_what_was_idle_just_now_is_not_asked
    pool = Pool.new(check_after: 60)
    pool.checkin(connection = pool.checkout(:k, &CONNECT))
    connection.stale = true
    assert_same(connection, pool.checkout(:k) { flunk })
  end

  def test_idle_ones_expire_without_a_thread
    in_growing_times(0.02, 0.2, 5) do |seconds|
      pool = Pool.new(idle_timeout: seconds)
      pool.checkin(a = pool.checkout(:a, &CONNECT))
      sleep(seconds * 1.5)
      pool.checkin(pool.checkout(:b, &CONNECT))
      assert(a.closed)
      pool.checkin(b = pool.checkout(:b, &CONNECT))
      sleep(seconds * 1.5)
      pool.checkout(:c, &CONNECT)
      assert(b.closed)
      assert_equal([0, 1, 2], pool.statistics.values_at(:idle, :busy, :expired))
    end
    assert_equal(0, Pool.new(idle_timeout: nil).tap { |p| 2.times { |n| with(p, n, &:itself) } }.statistics[:expired])
  end

  everywhere("close") do |mechanism|
    pool = Pool.new(per_key: 2)
    busy, idle = Array.new(2) { pool.checkout(:k, &CONNECT) }
    waiter = mechanism.beside { assert_raises(Plait::UsageError) { pool.checkout(:k) { flunk } } }
    wait_until { pool.statistics[:waiting] == 1 }
    other = pool.checkout(:other, &CONNECT)
    pool.checkin(other)
    pool.close
    assert_match(/closed/, waiter.call.message)
    assert(other.closed)
    pool.checkin(busy)
    pool.discard(idle)
    assert(busy.closed && idle.closed)
    assert_raises(Plait::UsageError) { pool.checkout(:k) { flunk } }
  end

  def test_clear
    pool = Pool.new
    pool.checkin(a = pool.checkout(:k, &CONNECT))
    pool.clear
    assert(a.closed)
    pool.checkout(:k, &CONNECT)
  end

  def test_the_child_of_a_fork_starts_empty
    skip("no fork here") unless Process.respond_to?(:fork)
    pool = Pool.new(per_key: 2)
    busy, idle = Array.new(2) { pool.checkout(:k, &CONNECT) }
    pool.checkin(idle)
    pid = fork do
      own = pool.checkout(:k, &CONNECT)
      pool.checkin(busy)
      right = [own != idle, idle.abandoned, !idle.closed, busy.abandoned, !busy.closed,
               pool.statistics.values_at(:idle, :busy) == [0, 1]]
      exit!(right.all? ? 0 : 1)
    end
    assert_predicate(Process.wait2(pid).last, :success?)
    assert_same(idle, pool.checkout(:k) { flunk })
  end

  def test_the_parents_connection_outlives_the_child
    skip("no fork here") unless Process.respond_to?(:fork)
    pool = Pool.new
    serving(->(socket) { IO.copy_stream(socket, socket) }) do |port|
      endpoint = Plait.const_get(:Io)::Endpoint.tcp("127.0.0.1", port)
      connect = -> { stream_to(endpoint) }
      with(pool, endpoint, connect) { |stream| assert_equal("a", echo(stream, "a")) }
      Process.wait(fork { with(pool, endpoint, connect) { |s| echo(s, "b") } && exit!(0) })
      with(pool, endpoint, -> { flunk }) { |stream| assert_equal("c", echo(stream, "c")) }
      pool.close
    end
  end

  def test_wrong_options
    assert_raises(Plait::UsageError) { Pool.new(per_key: 0) }
    assert_raises(Plait::UsageError) { Pool.new(max: 0) }
  end

  private

  def with(...) = self.class.with(...)

  def echo(stream, text) = stream.write(text) && stream.read_exactly(text.bytesize, deadline: within(60))

  # All places can be had, at once; one more can't.
  def assert_intact(pool, places)
    assert_equal([0, 0], pool.statistics.values_at(:busy, :waiting))
    pool.clear
    Array.new(places) { |n| pool.checkout(n % 2, deadline: within(5), &CONNECT) } if places == 3
    Array.new(places) { pool.checkout(:k, deadline: within(5), &CONNECT) } if places == 2
    assert_equal([0, places, 0], pool.statistics.values_at(:idle, :busy, :waiting))
    assert_raises(Plait::PoolTimeout) { pool.checkout(places == 3 ? 0 : :k, deadline: within(0)) { flunk } }
  end
end
