# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/auto"

# The search for the best level, in worlds whose best level is known. They have a clock of their own.
class ClimbTest < Minitest::Test
  Auto = Plait::Mechanisms.const_get(:Auto)
  Climb = Auto.const_get(:Climb)
  Ladder = Auto.const_get(:Ladder)
  ALL = %i[sequence threads fibers hybrid].freeze
  LIMITS = Array.new(9) { |power| 2**power }

  # Items whose rate and use of the processor follow from the level and the time.
  class World
    attr_reader :climb, :tried

    # @yieldparam kind [Symbol]
    # @yieldparam limit [Integer]
    # @yieldparam now [Float] seconds
    # @yieldreturn [Array(Float, Float)] items a second, and processors that are busy
    def initialize(among: ALL, cap: 256, noise: 0.1, seed: 1, &model)
      @model = model
      @noise = noise
      @random = Random.new(seed)
      @now = @cpu = @lost = 0.0
      @pause = 0.005
      kinds = %i[threads fibers processes]
      @levels = LIMITS.product(kinds).map(&:reverse).select { |kind, limit| limit <= cap && (among & kinds).include?(kind) }
      @climb = Climb.new(Ladder.new(among, cap, 2), 0.0, -> { @cpu })
      @tried = Hash.new(0.0)
    end

    def run(seconds)
      step while @now < seconds
      self
    end

    # @return [Float] items of the best level, for each that was done
    def regret = @best / @done

    private

    def step
      rate, busy = @model.call(*@climb.level.to_a, @now)
      items = [(rate * 0.002).floor, 1].max
      seconds = items / (rate * (1 + (@noise * ((@random.rand * 2) - 1))))
      waited = wait(seconds, busy)
      return pass(waited, 0, 0) if waited

      pass(seconds, items, busy)
      @climb.record(@now, items, items)
      @climb.judge if @climb.due?
    end

    # @return [Float, nil] seconds until the level has changed because nothing finished
    def wait(seconds, busy)
      waited = 0.0
      while waited + @pause < seconds
        waited += @pause
        @pause = [@pause * 2, 0.2].min
        before = @cpu
        @cpu += waited * busy
        return waited if @climb.stalled(@now + waited)

        @cpu = before
      end
    end

    def pass(seconds, items, busy)
      @tried[@climb.level.to_a] += seconds
      @best = (@best || 0.0) + (@levels.map { |level| @model.call(*level, @now).first }.max * seconds)
      @done = (@done || 0) + items
      @now += seconds
      @cpu += seconds * busy
    end
  end

  def settle(within: 1.1, seconds: 30, **options, &model)
    worlds = [0.0, 0.1].map { |noise| World.new(noise: noise, **options, &model).run(seconds) }
    worlds.each { |world| assert_operator(world.regret, :<=, within) }
    worlds.first.climb.base.level.to_a
  end

  def test_items_that_wait_get_the_whole_limit
    assert_equal([:fibers, 256], settle { |_, limit| [limit / 0.05, limit * 0.001] })
    assert_equal([:threads, 20], settle(cap: 20) { |_, limit| [limit / 0.05, limit * 0.001] })
  end

  def test_computing_stays_one_after_another
    assert_equal([:threads, 1], settle { |_, limit| [1_000 - (limit * 0.5), 1.0] })
  end

  def test_computing_goes_to_processes_where_it_may
    level = settle(among: [*ALL, :processes]) { |kind, _| kind == :processes ? [1_900, 1.9] : [1_000, 1.0] }
    assert_equal([:processes, 2], level)
  end

  def test_waits_that_hold_the_lock_go_to_as_many_processes_as_gain
    level = settle(among: [*ALL, :processes], seconds: 60) do |kind, limit|
      [kind == :processes ? [limit, 20].min / 0.02 : 50, 0.02]
    end
    assert_equal(:processes, level.first)
    assert_operator(level.last, :>=, 20)
  end

  def test_a_mixture_gets_more_processes_than_processors
    level = settle(among: [*ALL, :processes]) do |kind, limit|
      [[limit / 0.01, kind == :processes ? 400 : 200].min, [limit * 0.5, kind == :processes ? 2 : 1].min]
    end
    assert_equal(:processes, level.first)
  end

  def test_items_of_new_workers_belong_to_no_window
    climb = World.new { [1, 1] }.climb
    now = 0
    looks = [true, false].map do |new|
      20.times do
        climb.discount if new
        climb.record(now += 1)
      end
      climb.due?
    end
    assert_equal([false, true], looks)
  end

  # What the processes use is unknown, and the program's own work is not the items'.
  def test_a_garbage_collection_beside_processes_is_no_change
    world = World.new(among: [*ALL, :processes]) do |kind, limit, now|
      next [60, 0.02] unless kind == :processes

      now.between?(8, 8.3) ? [20, 1.0] : [[limit * 50, 1_000].min, 0.02]
    end
    world.run(12)
    assert_equal([0, :processes], [world.climb.changes, world.climb.base.level.kind])
  end

  def test_tiny_items_are_never_handed_to_several
    world = World.new { |_, limit| [limit == 1 ? 200_000 : 25_000, 1.0] }.run(5)
    assert_equal([[:threads, 1]], world.tried.keys)
  end

  def test_computing_without_the_lock_gets_a_thread_for_each_processor
    level = settle do |kind, limit|
      busy = kind == :fibers ? 1 : [limit, 2].min
      [busy / 0.02, busy]
    end
    assert_equal([:threads, 2], level)
  end

  def test_a_mixture_gets_as_many_as_keep_the_lock_busy
    assert_equal([:threads, 16], settle { |_, limit| [[limit / 0.1, 100].min, [limit * 0.1, 1].min] })
  end

  def test_a_peer_with_a_cap_is_not_asked_for_more
    assert_equal([:threads, 8], settle { |_, limit| [[limit, 8].min / 0.03, 0.05] })
    world = World.new { |_, limit| [[limit, 8].min / 0.03, 0.05] }.run(30)
    assert_operator(world.tried.sum { |(_, limit), seconds| limit > 8 ? seconds : 0 }, :<, 3)
  end

  def test_a_shared_lock_leaves_one
    assert_equal([:threads, 1], settle { [50.0, 0.01] })
  end

  def test_waits_that_no_scheduler_sees_stay_on_threads
    assert_equal([:threads, 256], settle { |kind, limit| [(kind == :fibers ? [limit, 16].min : limit) / 0.03, 0.05] })
  end

  def test_cheap_waits_that_fill_the_processor_go_to_fibers
    level = settle { |kind, limit| [[limit / 0.005, kind == :fibers ? 30_000 : 10_000].min, [limit / 50.0, 1].min] }
    assert_equal(:fibers, level.first)
  end

  def test_it_decides_again_when_the_work_changes
    settle { |_, limit, now| (now / 10).to_i.odd? ? [limit / 0.02, limit * 0.01] : [1_000.0, 1.0] }
    world = World.new { |_, limit, now| now > 5 ? [1_000.0, 1.0] : [limit / 0.02, limit * 0.001] }.run(15)
    assert_operator(world.climb.changes, :>=, 1)
    assert_equal([:threads, 1], world.climb.base.level.to_a)
  end

  def test_items_that_fail_count_for_nothing
    world = World.new { |_, limit| [limit / 0.02, 0.01] }
    climb = world.climb
    climb.singleton_class.prepend(Module.new do
      def record(now, good, all) = super(now, level.limit > 8 ? good / 10 : good, all)
    end)
    world.run(10)
    assert_operator(climb.base.level.limit, :<=, 8)
  end

  # Between the bursts nothing can be learned.
  def test_a_source_that_is_late_gives_no_figures
    climb = Climb.new(Ladder.new(ALL, 64, 2), 0.0, -> { 0.0 })
    200.times do |n|
      climb.idle(0.06)
      climb.record((n * 0.1) + 0.04, 1, 1)
      climb.judge if climb.due?
    end
    assert_nil(climb.base)
  end
end
