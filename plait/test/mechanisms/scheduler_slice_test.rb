# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/scheduler"

# How many fibers go on in one turn of the loop, by Scheduler.new(slice:).
class SchedulerSliceTest < Minitest::Test
  FIBERS = 20
  # Seconds in which surely one fiber goes on, and surely all.
  SHORT = 1e-9
  LONG = 60

  WAYS = {
    reading: lambda do |going_on|
      writers = []
      fibers { |reader, writer| (writers << writer) && reader.readpartial(1).then(&going_on) }
      writers.each { |writer| writer.syswrite("x") }
    end,
    sleeping: ->(going_on) { fibers { sleep(0.001).then(&going_on) } },
    yielding: ->(going_on) { fibers { Fiber.scheduler.yield.then(&going_on) } },
    beginning: ->(going_on) { FIBERS.times { Fiber.scheduler.spawn(Job.new(Fiber.scheduler, going_on)) } }
  }.freeze

  Job = Struct.new(:scheduler, :body) do
    def run
      body.call
      scheduler.finished
    end
  end

  def self.fibers
    FIBERS.times do
      pipe = IO.pipe
      Fiber.schedule { yield(*pipe) }
    end
  end

  def test_a_slice_is_seconds
    [0, -1, "1", nil].each do |slice|
      error = assert_raises(Plait::UsageError) { Plait::Scheduler.new(slice: slice) }
      assert_includes(error.message, slice.inspect)
    end
  end

  # @return [Array<Integer>] how many fibers went on in each turn
  def turns(slice, way)
    counts = [0]
    Thread.new do
      Fiber.set_scheduler(scheduler = Plait::Scheduler.new(slice: slice))
      self.class.class_exec(->(*) { counts[-1] += 1 }, &way)
      hold_up(0.01)
      scheduler.run_until(0) { (counts << 0) && scheduler.idle? }
    end.join
    counts
  end

  # So that all who sleep are due.
  def hold_up(seconds)
    limit = Plait::Deadline.now + seconds
    nil until Plait::Deadline.now > limit
  end

  WAYS.each do |name, way|
    define_method("test_a_short_slice_#{name}") { assert_operator(turns(SHORT, way).max, :<=, 2) }

    define_method("test_a_long_slice_#{name}") { assert_equal(FIBERS, turns(LONG, way).max) }
  end
end
