# frozen_string_literal: true

require "uri"
require "test_helper"
require "support/patience"
require "support/ractors"

class CoordinatorTest < Minitest::Test
  def test_an_endless_source_ends_with_the_deadline
    in_growing_times(1, 10, 30) do |deadline|
      finished = Plait.each_result(1.step, on: :threads, limit: 2, deadline: deadline, on_error: :collect) { sleep(0.01) }.to_a
      assert_operator(finished.size, :>, 2)
      assert(finished.reject(&:ok?).all? { |outcome| outcome.error.is_a?(Plait::DeadlineExceeded) })
    end
  end

  def test_an_error_of_the_source_reaches_the_caller_and_nothing_is_left
    source = Enumerator.new do |items|
      items << 1
      raise IOError, "the source broke"
    end
    assert_no_leaks do
      assert_equal("the source broke", assert_raises(IOError) { Plait.map(source, on: :threads) { |item| item } }.message)
    end
  end

  def test_the_source_is_closed_when_the_caller_leaves
    closed = false
    source = Enumerator.new do |items|
      loop { items << 1 }
    ensure
      closed = true
    end
    Plait.each_result(source, on: :fibers, limit: 2) { |item| item }.each { break }
    assert(closed)
  end

  def test_the_first_failure_carries_the_others
    begun = Queue.new
    error = Support::Patience.patiently do
      assert_raises(KeyError) do
        Plait.map([0, 60], on: :threads, limit: 2) do |seconds|
          seconds.zero? ? begun.pop : (begun << 1).then { sleep(seconds) }
          raise KeyError, "first"
        ensure
          raise IOError, "while cleaning up" if seconds.positive?
        end
      end
    end
    assert_equal(["while cleaning up"], error.suppressed.map(&:message))
  end

  def test_a_failure_in_a_nested_run_names_both_items
    error = assert_raises(KeyError) do
      Plait.map(%w[outer], on: :sequence) { Plait.map([7], on: :sequence) { raise KeyError, "deep" } }
    end
    assert_equal("deep (item 0: 7, in item 0: \"outer\")", error.message)
  end

  def test_an_error_object_that_is_raised_again_says_only_where_it_was_raised_last
    kept = RuntimeError.new("kept")
    messages = [7, 8].map do |item|
      assert_raises(RuntimeError) { Plait.map([item], on: :sequence) { raise kept } }.message
    end
    assert_equal(["kept (item 0: 7)", "kept (item 0: 8)"], messages)
  end

  def test_errors_with_a_message_of_their_own_name_their_item_too
    own = Class.new(StandardError) { def message = "mine" }
    assert_equal("mine (item 0: 1)", assert_raises(own) { Plait.map([1], on: :sequence) { raise own } }.message)
  end

  def test_a_frozen_error
    error = assert_raises(KeyError) { Plait.map([1], on: :sequence) { raise KeyError.new("cold").freeze } }
    assert_equal("cold (item 0: 1)", error.message)
  end

  def test_long_and_broken_items_do_not_flood_the_message
    broken = Class.new { def inspect = raise("no") }.new
    assert_operator(failing("x" * 10_000).message.size, :<, 120)
    assert_match(/item 0: a #<Class/, failing(broken).message)
  end

  def test_messages_show_plain_items_without_their_passwords
    { "http://u:s3cret@h/?a" => '"http://…@h/?a"', URI("http://u:s3cret@h/b") => "http://…@h/b", 1.5 => "1.5", :a => ":a",
      nil => "nil", { password: "s3cret" } => "Hash of 1", %w[s3cret] => "Array of 1", "token=s3cret" => '"token=…"',
      Struct.new(:password).new("s3cret") => /a #<Class/, "x" * 5_000 => /\A"x{76}\.\.\.\z/ }.each do |item, shown|
      text = failing(item).message[/\(item 0: (.*)\)\z/, 1]
      shown.is_a?(Regexp) ? assert_match(shown, text) : assert_equal(shown, text)
    end
  end

  def test_a_hundred_thousand_items_without_growing
    %i[sequence threads fibers].each do |on|
      sizes = []
      Plait.each_result(1..100_000, on: on, limit: 8) { |item| item }.each do |outcome|
        sizes << live_objects if (outcome.index % 25_000) == 24_999
      end
      assert_operator(sizes.last, :<, sizes.first * 1.2, "#{on}: #{sizes}")
    end
  end

  def test_map_keeps_values_and_no_outcomes
    %i[raise skip].each do |policy|
      kept = nil
      values = Plait.map(0...2_000, on: :sequence, on_error: policy) do |item|
        next item if item < 1_999

        GC.start
        kept = ObjectSpace.each_object(Plait::Outcome).count
        nil
      end

      assert_equal([*0...1_999, nil], values)
      assert_operator(kept, :<, 200, policy)
    end
  end

  def test_skip_leaves_out_failures_and_keeps_nil
    values = Plait.map(0..5, on: :threads, on_error: :skip) { |item| item.odd? ? raise(KeyError) : [nil, false, item][item / 2] }

    assert_equal([nil, false, 4], values)
  end

  def test_unknown_mechanisms
    error = assert_raises(Plait::UnknownMechanism) { Plait.map([1], on: :magic) { |item| item } }
    assert_match(/there is no mechanism :magic; there are :sequence, :threads/, error.message)
    assert_raises(Plait::UsageError) { Plait.map([1], on: %i[threads fibers]) { |item| item } }
    assert_raises(Plait::UsageError) { Plait.map([1], on: :threads, limit: [2, 3]) { |item| item } }
    assert_raises(Plait::UnknownMechanism) { Plait.map([1], on: nil) { |item| item } }
  end

  def test_ctrl_c_leaves_nothing_behind
    [:sequence, :threads, :fibers, :hybrid, :processes, *(:ractors unless Support::Ractors.unavailable)].each do |on|
      output = interrupted("Plait.map([30, 30], on: :#{on}, limit: 2) { |seconds| sleep(seconds) }")
      assert_equal("Interrupt, 1 threads, 0 children\n", output, on)
    end
  end

  private

  def failing(item)
    assert_raises(KeyError) { Plait.map([item], on: :sequence) { raise KeyError, "no" } }
  end

  def live_objects
    GC.start
    counts = ObjectSpace.count_objects
    counts[:TOTAL] - counts[:FREE]
  end

  def interrupted(code)
    program = <<~RUBY
      require "plait"
      Thread.new { sleep(1) && $stdout.syswrite("running\\n") }.name = "announcer"
      begin
        #{code}
      rescue Interrupt => e
        ours = Thread.list.reject { |thread| thread.name.to_s.match?(/announcer|Timeout/) }
        puts "\#{e.class}, \#{ours.size} threads, \#{children} children"
      end
    RUBY
    helper = <<~RUBY
      def children
        Process.wait(-1, Process::WNOHANG)
        "some"
      rescue Errno::ECHILD
        0
      end
    RUBY
    IO.popen([RbConfig.ruby, "-W0", *Support::FLAGS, "-e", helper + program]) do |io|
      io.gets
      Process.kill(:INT, io.pid)
      io.read
    end
  end
end
