# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/patience"
require "support/ractors"
require "plait"
require "tempfile"

# The pool of ractors: limits, failures, ends. Bodies tell what they do through files, the one thing that a ractor shares.
class RactorsTest < Minitest::Test
  # A hundred pools take minutes on a busy machine.
  def hard_timeout = 480

  class Refused < StandardError
    attr_reader :code

    def initialize(message, code)
      super(message)
      @code = code
    end
  end

  # Results, by name.
  module Made
    class Text < String; end

    def self.of(kind)
      case kind
      when :big then 3**5000
      when :long then "x" * 100_000
      when :edge then "y" * 480
      when :pieces then "z" * 5000
      when :bytes then "\xFF".b
      when :utf16 then "u".encode("UTF-16LE")
      when :with_variable then (+"v").tap { |text| text.instance_variable_set(:@own, :mine) }
      when :subclass then Text.new("w")
      else kind
      end
    end
  end
  KINDS = [nil, true, -7, :big, 0.1, :"ä b", "ä", +"ö", :long, :edge, :pieces, :bytes, :utf16, [1, [2]], Comparable,
           :with_variable, :subclass].freeze

  def setup
    Support::Ractors.needed
    @log = Tempfile.new("plait-ractors")
    @path = @log.path
  end

  def teardown = @log&.close!

  def map(items, **options, &block) = Plait.map(items, on: :ractors, **options, &block)

  def notes = File.readlines(@path, chomp: true)

  def assert_nothing_left(&block)
    before = Ractor.count
    value = assert_no_leaks(&block)
    wait_until(what: "the end of the ractors") { Ractor.count <= before }
    value
  end

  def test_only_as_many_as_needed_and_each_again_and_again
    outcomes = Plait.each_result(1..200, on: :ractors, limit: 2) { |x| x }.to_a
    assert_equal([0, 1], outcomes.map(&:worker).uniq.sort)
    assert_equal([0], Plait.each_result([1], on: :ractors, limit: 50) { |x| x }.map(&:worker))
  end

  # Each waits until both have begun.
  def test_the_limit_is_used
    together = map([@path] * 2, limit: 2) do |path|
      File.write(path, "begun\n", mode: "a")
      sleep(0.001) until File.readlines(path).size == 2
      :together
    end
    assert_equal(%i[together together], together)
  end

  # Three runs: a ractor that begins late finds the other's items done.
  def test_never_more_than_the_limit
    highest = Array.new(3) do
      File.write(@path, "")
      map(Array.new(60, @path), limit: 2) do |path|
        File.write(path, "+", mode: "a")
        sleep(0.001)
        File.write(path, "-", mode: "a")
      end
      now = 0
      levels = File.read(@path).each_char.map { |sign| now += sign == "+" ? 1 : -1 }
      assert_equal(120, levels.size)
      levels.max
    end
    assert_equal(2, highest.max)
  end

  def test_an_exception_with_its_item
    error = assert_raises(Refused) do
      map(%w[a b], limit: 1) { |item| item == "b" ? raise(Refused.new("not this one", 7)) : item }
    end
    assert_equal(["not this one (item 1: \"b\")", 1, "b", 7], [error.message, error.index, error.item, error.code])
    assert_match(/#{File.basename(__FILE__)}:\d+/, error.backtrace.first)
  end

  def test_an_exception_keeps_its_cause
    error = map([1], on_error: :collect) do |_|
      raise KeyError, "inner"
    rescue KeyError
      raise ArgumentError, "outer"
    end.first.error
    assert_equal([ArgumentError, "outer", KeyError, "inner"],
                 [error.class, error.message, error.cause.class, error.cause.message])
  end

  def test_an_exception_that_can_not_be_copied_is_told_in_words
    error = map([1], on_error: :collect) { |_| raise(Class.new(KeyError), "anonymous") }.first.error
    assert_kind_of(KeyError, error)
    assert_match(/anonymous/, error.message)
  end

  class Silent < KeyError
    def message = nil
  end

  class Raising < KeyError
    def message = raise("no")
  end

  class Foreign < KeyError
    TEXT = String.new("+AOk-", encoding: "UTF-7").freeze

    def message = TEXT
  end

  def test_an_exception_with_a_message_that_is_none
    outcomes = map([Silent, Raising, Foreign, nil], on_error: :collect) { |error| raise error if error }
    assert_equal([Silent, Raising, Foreign, nil], outcomes.map { |outcome| outcome.error&.class })
  end

  def test_ways_out_of_a_block
    assert_equal([1, :early, 3], map([1, 2, 3], limit: 2) { |x| x == 2 ? (next :early) : x })
    assert_raises(LocalJumpError) { map([1]) { |_| break 5 } }
    assert_match(/uncaught throw :gone/, assert_raises(UncaughtThrowError) { map([1]) { |_| throw :gone } }.message)
    assert_raises(SystemStackError) { map([1]) { |_| (again = ->(depth) { again.call(depth + 1) }).call(0) } }
  end

  def test_a_worker_that_dies_is_one_outcome_and_is_replaced
    outcomes = assert_nothing_left do
      map(1..9, limit: 2, on_error: :collect) { |x| (x % 3).zero? ? Thread.current.kill : x }
    end
    assert_equal([1, 2, nil, 4, 5, nil, 7, 8, nil], outcomes.map(&:value))
    assert_equal([Plait::WorkerDied], outcomes.values_at(2, 5, 8).map { |outcome| outcome.error.class }.uniq)
    assert_match(/\Athe ractor ended before it answered for item 2: .*`next` returns early/, outcomes[2].error.message)
  end

  def test_retries_cover_a_worker_that_dies
    outcomes = assert_nothing_left do
      map([@path] * 5, limit: 2, on_error: :collect, retries: { count: 2, base: 0.001 }) do |path|
        File.write(path, "x", mode: "a")
        File.size(path) < 3 ? Thread.exit : :lived
      end
    end
    assert_equal([:lived] * 5, outcomes.map(&:value))
    assert_equal(7, outcomes.sum(&:attempts))
    assert_equal(7, File.size(@path))
  end

  def test_errors_and_deaths_are_counted_together
    outcome, = map([@path], on_error: :collect, retries: { count: 3, base: 0.001 }) do |path|
      File.write(path, "x", mode: "a")
      File.size(path).odd? ? raise("odd") : Thread.exit
    end
    assert_equal([4, 4, Plait::WorkerDied], [File.size(@path), outcome.attempts, outcome.error.class])
  end

  # Small items wait at the ractors; a long one among them must not hold up any.
  def test_what_waits_behind_a_long_item_is_run_elsewhere
    items = Array.new(200) { |index| [index, @path] }
    values = map(items, limit: 2, timeout: 60) do |index, path|
      sleep(0.001)
      sleep(0.002) until index != 100 || File.size(path) == 199
      File.write(path, "x", mode: "a")
      index
    end
    assert_equal((0...200).to_a, values)
  end

  def test_nothing_is_run_twice_and_nothing_is_lost
    items = Array.new(600) { |index| [index, @path] }
    outcomes = map(items, limit: 3, on_error: :collect) do |index, path|
      File.write(path, "#{index}\n", mode: "a")
      sleep((index * 7 % 13) / 10_000.0)
      (index % 97) == 50 ? Thread.exit : index
    end
    doomed = (0...600).select { |index| index % 97 == 50 }
    assert_equal((0...600).to_a, notes.map(&:to_i).sort)
    assert_equal([(0...600).to_a - doomed, doomed], [outcomes.filter_map(&:value), outcomes.reject(&:ok?).map(&:index)])
  end

  # Among items that wait at a ractor.
  def test_an_item_that_can_not_be_copied_fails_alone
    items = Array.new(100) { |index| index % 9 == 8 ? Thread.current : index }
    outcomes = map(items, limit: 2, on_error: :collect) { |item| item }
    refused, rest = outcomes.partition(&:error)
    assert_equal([items.grep(Integer), 11], [rest.map(&:value), refused.size])
    assert(refused.all? { |outcome| outcome.item == Thread.current && outcome.error.is_a?(Plait::UnshareableError) })
  end

  # Each travels as it would if it were copied.
  def test_results_of_many_kinds
    values = map(KINDS) { |kind| Made.of(kind) }
    expected = KINDS.map { |kind| Made.of(kind) }
    assert_equal(expected, values)
    assert_equal(expected.map { |value| [value.class, value.frozen?] }, values.map { |value| [value.class, value.frozen?] })
    assert_equal(expected.grep(String).map(&:encoding), values.grep(String).map(&:encoding))
    assert_equal([:mine, Made::Text], [values[-2].instance_variable_get(:@own), values[-1].class])
  end

  def test_a_worker_that_dies_ends_the_run
    error = assert_nothing_left do
      assert_raises(Plait::WorkerDied) { map([1, 2, 3], limit: 1) { |x| x == 2 ? Thread.exit : x } }
    end
    assert_equal([1, 2], [error.index, error.item])
  end

  def test_threads_that_a_body_leaves_behind_end_with_it
    assert_nothing_left { assert_equal([1, 2], map([1, 2], limit: 2) { |x| Thread.new { sleep } && x }) }
  end

  def test_a_hundred_pools_leave_nothing
    assert_nothing_left do
      100.times do |turn|
        case turn % 4
        when 0 then map(1..4, limit: 2) { |x| x }
        when 1 then Plait.each_result(1..9, on: :ractors, limit: 2) { |x| x }.first(2)
        when 2 then assert_raises(RuntimeError) { map(1..4, limit: 2) { |_| raise "no" } }
        else map([0, 30], limit: 2, timeout: 0.01, on_error: :collect) { |seconds| sleep(seconds) }
        end
      end
    end
  end

  def test_a_failure_cancels_the_others_and_their_ensure_blocks_run
    assert_nothing_left do
      Support::Patience.patiently do
        assert_raises(KeyError) do
          map([[@path, :slow], [@path, :bad]], limit: 2) do |path, name|
            # An exception that comes before the file is closed leaves it open until the garbage is collected.
            Thread.handle_interrupt(Exception => :never) { File.write(path, "begun\n", mode: "a") } if name == :slow
            sleep(0.001) until File.size?(path)
            raise KeyError if name == :bad

            sleep
          ensure
            File.write(path, "ensured\n", mode: "a") if name == :slow
          end
        end
      end
    end
    assert_equal(%w[begun ensured], notes)
  end

  def test_a_body_that_computes_is_cancelled_too
    assert_nothing_left { assert_equal(0, Plait.first([nil, 0], on: :ractors, limit: 2) { |x| x || loop { x = x.to_i + 1 } }) }
  end

  def test_a_body_that_rescues_everything_ends_too
    assert_nothing_left do
      assert_raises(KeyError) do
        map([[@path, :stubborn], [@path, :bad]], limit: 2) do |path, name|
          sleep(0.001) until name == :stubborn || File.size?(path)
          raise KeyError if name == :bad

          begin
            File.write(path, "begun\n", mode: "a")
            sleep
          rescue Exception
            :swallowed
          end
        end
      end
    end
  end

  def test_a_thread_that_is_killed_takes_its_pool_along
    assert_nothing_left do
      path = @path
      thread = Thread.new do
        Plait.map([path, path], on: :ractors, limit: 2) do |name|
          Thread.handle_interrupt(Exception => :never) { File.write(name, "begun\n", mode: "a") }
          sleep
        end
      end
      wait_until { notes.size == 2 }
      thread.kill.join
    end
  end

  # In a process of its own, since Ruby has no way to end that ractor.
  def test_a_body_that_can_not_be_cancelled_is_left_behind_and_told
    result = Support::FreshRuby.run(<<~RUBY, @path)
      require "plait"
      items = [[ARGV.first, :deaf], [ARGV.first, :bad]]
      begin
        Plait.map(items, on: :ractors, limit: 2) do |path, name|
          if name == :bad
            sleep(0.001) until File.size?(path)
            raise KeyError, "now"
          end
          Thread.handle_interrupt(Exception => :never) { File.write(path, "begun") && sleep }
        end
      rescue KeyError => e
        puts e.message, e.suppressed.first.class, e.suppressed.first.message
        $stdout.flush
        exit!(0)
      end
    RUBY
    assert_predicate(result, :success?, result.err)
    assert_match(/\Anow .*\nPlait::CancelledError\nitem 0 still runs: .*Ruby can't end a ractor from outside/,
                 result.out)
  end

  def test_ctrl_c
    code = <<~RUBY
      require "support/patience"
      Support::Patience.be_patient
      begin
        Plait.map([ARGV.first] * 2, on: :ractors, limit: 2) do |path|
          File.write(path, "begun\n", mode: "a")
          sleep
        ensure
          File.write(path, "ensured\n", mode: "a")
        end
      rescue Interrupt
        File.write(ARGV.first, "interrupted\n", mode: "a")
      end
    RUBY
    pid = spawn(RbConfig.ruby, *Support::FLAGS, "-I#{Support::ROOT}/test", "-e", code, @path, pgroup: true)
    wait_until(timeout: 60) { notes.size == 2 }
    Process.kill(:INT, -pid)
    Process.wait(pid)
    assert_equal(%w[begun begun ensured ensured interrupted], notes)
  end

  # An alarm must ring in the item it was set for, and in no other.
  def test_many_short_time_limits
    seconds = Array.new(300) { |n| (n % 3).zero? ? 30 : 0 }
    outcomes = assert_nothing_left { map(seconds, limit: 2, timeout: 0.02, on_error: :collect) { |time| sleep(time) } }
    late, in_time = outcomes.partition { |outcome| outcome.item == 30 }
    assert_equal([Plait::TimeoutError], late.map { |outcome| outcome.error.class }.uniq)
    # An item that does nothing may be late on a busy machine, but then it says so.
    in_time.each { |outcome| assert(outcome.ok? || outcome.error.is_a?(Plait::TimeoutError), outcome.error.inspect) }
    assert(in_time.any?(&:ok?))
  end

  # Up to Ruby 3.2 all threads of the main ractor wait at one place. Ruby 4.0 has ports instead.
  def test_a_ractor_of_the_programs_own_is_not_disturbed
    result = Support::FreshRuby.run(<<~RUBY, flags: ["-W0"])
      require "plait"
      port = Ractor::Port.new if defined?(Ractor::Port)
      own = Ractor.new(port) { |out| 50.times { |n| out ? out.send(n) : Ractor.yield(n) }; :end }
      values = Array.new(50) do |n|
        right = Plait.map([n, n], on: :ractors, limit: 2) { |x| x * 2 } == [n * 2, n * 2]
        (port ? port.receive : own.take) if right
      end
      p values == (0...50).to_a, port ? own.value : own.take
    RUBY
    assert_equal("true\n:end\n", result.out, result.err)
  end

  # Ruby runs a finalizer in the ractor that has collected the garbage.
  def test_runs_that_were_dropped_end_whichever_ractor_collects_them
    result = Support::FreshRuby.run(<<~RUBY, flags: ["-W0"])
      require "plait"
      require "support/ractors"
      require "support/waiting"
      %i[threads ractors].each do |on|
        Thread.new { 5.times { Plait.each_result(1.step, on: on, limit: 1) { |x| x }.next } }.join
      end
      own = Ractor.new { 10.times { GC.start } }
      Support::Ractors.value(own)
      Support::Waiting.wait_until(what: "their end") { GC.start || [Ractor.count, Thread.list.size].max <= 3 }
      print("ended")
    RUBY
    assert_equal(["ended", ""], [result.out, result.err])
  end

  def test_large_results_pass
    sizes = map([10_000_000, 1], limit: 2) { |bytes| "x" * bytes }.map(&:bytesize)
    assert_equal([10_000_000, 1], sizes)
  end

  def test_ten_thousand_items
    assert_nothing_left { assert_equal((0...10_000).map { |x| x + 1 }, map(0...10_000, limit: 2) { |x| x + 1 }) }
  end
end
