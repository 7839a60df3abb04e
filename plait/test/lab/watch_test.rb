# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "support/fresh_ruby"

class WatchTest < Minitest::Test
  def setup
    @queue = Thread::Queue.new
    @watch = Plait::Lab.watch(interval: 0.01, sources: { jobs: @queue })
    @threads = []
  end

  def teardown
    @watch.stop
    @threads.each { |thread| thread.kill.join }
  end

  def thread(&block) = @threads << Thread.new(&block)

  def skip_without_loops = Plait::Mechanisms.find(:fibers).unavailable&.then { |reason| skip(reason) }

  # @return [Hash] once the block is true for it
  def seen
    wait_until { @shot = @watch.snapshot and yield(@shot) }
    @shot
  end

  def test_what_threads_wait_for_and_where
    lock = Mutex.new.tap(&:lock)
    thread { @queue.pop }
    thread { sleep }
    thread { lock.synchronize { nil } }
    ["waiting for a queue", "waiting for a timer", "waiting for a lock"].each do |doing|
      seen { |shot| shot[:places].any? { |row| row[:doing] == doing && row[:place].start_with?(__FILE__) } }
    end
    assert_equal({ size: 0, waiting: 1 }, @watch.snapshot[:sources][:jobs])
  end

  def test_fibers_of_a_loop_and_its_lag
    skip_without_loops
    thread { Plait.run(on: :fibers) { |scope| 5.times { scope.async { @queue.pop } } } }
    shot = seen { |one| one[:loops].any? { |row| row[:fibers] >= 5 } }
    row = shot[:loops].find { |one| one[:fibers] >= 5 }
    assert_operator(row[:longest_lag], :>=, row[:lag])
    seen { |one| one[:places].any? { |place| place[:doing] == "waiting for a queue" && place[:mean] > 1 } }
    assert_match(/^loop of .*: \d+ fibers, .* late, at most /, @watch.to_s)
  end

  # Where there are several, Ruby shows no objects but the shareable ones.
  def test_loops_are_seen_beside_ractors
    skip("this Ruby has no ractors") unless defined?(Ractor)

    result = Support::FreshRuby.run(<<~RUBY, flags: ["-W0"])
      require "plait"
      require "support/ractors"
      require "support/waiting"
      own = Ractor.new { 1 }
      Support::Ractors.value(own)
      watch = Plait::Lab.watch(interval: 0.01)
      Thread.new { Plait.run(on: :fibers) { sleep } }
      Support::Waiting.wait_until(what: "the loop") { watch.snapshot[:loops].any? }
      print("seen")
    RUBY
    assert_equal(["seen", ""], [result.out, result.err])
  end

  def test_a_loop_that_is_held_up_is_late
    skip_without_loops
    thread { Plait.run(on: :fibers) { loop { burn(0.25) && sleep(0.001) } } }
    seen { |one| one[:loops].any? { |row| row[:longest_lag] > 0.02 } }
  end

  def burn(seconds)
    limit = Plait::Deadline.now + seconds
    nil while Plait::Deadline.now < limit
    true
  end

  def test_waits_for_the_gvl_are_measured_or_not_zero
    return assert_match(/GVL wait: not measured/, @watch.to_s) if RUBY_VERSION < "3.2" || RUBY_ENGINE != "ruby"

    threads = Array.new(2) { Thread.new { nil until @over } }
    wait_until(timeout: 60) { @watch.snapshot[:gvl_wait] > 0.2 }
    @over = true
    threads.each(&:join)
    @watch.reset
    assert_operator(@watch.snapshot[:gvl_wait], :<, 0.2)
  end

  def test_it_can_forget_and_stop
    seen { |one| one[:looks] > 2 }
    @watch.reset
    assert_operator(@watch.snapshot[:seconds], :<, 60)
    assert_predicate(@watch, :alive?)
    assert_no_leaks { Plait::Lab.watch.stop }
  end

  def test_a_source_that_fails_is_shown_with_its_error
    source = Class.new { def statistics = raise(IOError, "closed") }.new
    watch = Plait::Lab.watch(sources: { pool: source })
    assert_equal({ pool: "IOError: closed" }, watch.snapshot[:sources])
  ensure
    watch&.stop
  end

  def test_wrong_arguments
    assert_match(/\Ainterval: /, assert_raises(Plait::UsageError) { Plait::Lab.watch(interval: 0) }.message)
    assert_match(/\Asources: is a Hash/, assert_raises(Plait::UsageError) { Plait::Lab.watch(sources: 5) }.message)
    error = assert_raises(Plait::UsageError) { Plait::Lab.watch(sources: { x: 1 }) }
    assert_match(/\Asources: x is of class Integer/, error.message)
  end
end
