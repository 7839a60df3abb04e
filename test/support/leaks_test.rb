# frozen_string_literal: true

require_relative "../test_helper"

class LeaksTest < Minitest::Test
  def test_a_clean_block_passes_and_gives_its_value
    assert_equal(42, assert_no_leaks(fibers: true) { Thread.new { 42 }.value })
  end

  def test_what_ends_soon_is_waited_for
    assert_no_leaks { Thread.new { 100.times { Thread.pass } } }
  end

  def test_a_thread_left_behind_is_named
    gate = Queue.new
    assert_includes(complaint { Thread.new { gate.pop } }, "thread #<Thread:")
  ensure
    gate << nil
  end

  def test_a_child_left_behind_is_named
    pid = nil
    message = complaint { pid = Process.spawn("sleep 60") }
    assert_includes(message, "child process #{pid}: sleep 60")
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  def test_a_child_nobody_waited_for_is_named
    pid = nil
    message = complaint do
      pid = Process.spawn("true")
      wait_until { File.read("/proc/#{pid}/stat").include?(") Z ") }
    end
    assert_includes(message, "nobody waited for it")
  ensure
    Process.wait(pid)
  end

  def test_an_open_descriptor_is_named
    reader, writer = nil
    assert_match(/descriptor \d+: pipe:/, complaint { reader, writer = IO.pipe })
  ensure
    [reader, writer].each(&:close)
  end

  def test_a_living_fiber_is_named
    fiber = nil
    message = complaint(fibers: true) { fiber = Fiber.new { Fiber.yield }.tap(&:resume) }
    assert_includes(message, "fiber #<Fiber:")
  ensure
    fiber.resume
  end

  private

  def complaint(**options, &block)
    assert_raises(Minitest::Assertion) { assert_no_leaks(within: 0.2, **options, &block) }.message
  end
end
