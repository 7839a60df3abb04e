# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/fibers"
require "support/fresh_ruby"
require "support/interrupts"
require "plait"
require "timeout"

# A run whose caller is interrupted wherever Ruby looks for that: it comes to its end, and leaves nothing behind.
class InterruptsTest < Minitest::Test
  include Support::Interrupts

  # One place in so many.
  STEP = 7
  # Seconds for which what a broken loop has lost is waited for.
  PATIENCE = 0.05

  RUNS = {
    map_on_fibers: -> { Plait.map(1..3, on: :fibers, limit: 2) { |x| sleep(0.001) && x } },
    map_on_hybrid: -> { Plait.map(1..3, on: :hybrid, limit: 2) { |x| Plait.offload { x } } },
    map_on_threads: -> { Plait.map(1..3, on: :threads, limit: 2) { |x| x } },
    map_of_a_source: -> { Plait.map(Enumerator.new { |sink| 3.times { |x| sink << sleep(0.001 * x) } }, on: :fibers, &:itself) },
    tasks_on_fibers: -> { Plait.run(on: :fibers) { |scope| Array.new(2) { scope.async { sleep(0.001) } }.map(&:value) } },
    tasks_on_sequence: -> { Plait.run(on: :sequence) { |scope| Array.new(2) { scope.async { sleep(0.001) } }.map(&:value) } },
    tasks_on_threads: -> { Plait.run(on: :threads) { |scope| Array.new(2) { scope.async { sleep(0.001) } }.map(&:value) } }
  }.freeze

  RUNS.each do |name, run|
    define_method(:"test_#{name}") do
      Timeout.timeout(60) { run.call } # its thread remains
      with_little_patience { each_interrupt(step: STEP) { [run, lone(Thread.list)] } }
    end
  end

  # Ruby locks no mutex there.
  HANDLER = <<~RUBY
    require "plait"
    kinds = [:sequence, :threads, :fibers, :hybrid, :processes, :ractors, :auto, [:processes, :fibers]]
    usable = kinds.select { |on| Plait.map([1], on: on) { |x| x } rescue false }
    descriptors = Dir.children("/dev/fd").size
    usable.each do |on|
      trap(:USR1) do
        Plait.map([1, 2], on: on) { |x| x + 1 } == [2, 3] or raise
      rescue Plait::UnsupportedError => e
        e.message.include?("signal handler") or raise
      ensure
        @over = true
      end
      Process.kill(:USR1, Process.pid)
      Thread.pass until @over
      @over = false
    end
    print([Fiber.scheduler, Plait.map([1], on: :fibers) { |x| x }, Dir.children("/dev/fd").size - descriptors].inspect)
  RUBY

  def test_a_signal_handler_is_refused_before_it_leaves_anything_behind
    result = Support::FreshRuby.run(HANDLER, flags: ["-W0"])
    assert_equal(["[nil, [1], 0]", ""], [result.out, result.err])
  end

  private

  def lone(threads)
    ->(place) { wait_until(what: "the end of all threads after the #{place}") { (Thread.list - threads).empty? } }
  end

  def with_little_patience(&block)
    [Plait::Mechanisms.const_get(:Fibers).const_get(:Pool), Plait::Scheduler.const_get(:Ending)].reduce(block) do |inner, owner|
      -> { with_grace(owner, PATIENCE, &inner) }
    end.call
  end

  def with_grace(owner, seconds)
    was = owner.send(:remove_const, :GRACE)
    owner.const_set(:GRACE, seconds)
    yield
  ensure
    owner.send(:remove_const, :GRACE)
    owner.const_set(:GRACE, was)
  end
end
