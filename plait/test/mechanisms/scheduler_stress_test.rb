# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "timeout"

# Random waits of many fibers, with random cancellations and timeouts, against threads that wake them: nobody sleeps
# through what it waited for, nobody is woken by what was meant for another, and all that was handed over arrives once.
#
#   PLAIT_STRESS=1000000 PLAIT_STRESS_SEED=42 …   more of it, the same again
class SchedulerStressTest < Minitest::Test
  include SchedulerCases

  WAITS = Integer(ENV.fetch("PLAIT_STRESS", "100000"))
  SEED = Integer(ENV.fetch("PLAIT_STRESS_SEED", Random.new_seed % 1_000_000))
  WORKERS = 150
  # Seconds without a wait coming to its end, after which it hangs.
  PATIENCE = 30

  ABORTS = "Ruby before 3.3 aborts when threads and fibers contend for a mutex and the scheduler's hook is written in Ruby; " \
           "compile the extension to run this"

  class Cancelled < Exception; end # rubocop:disable Lint/InheritException
  class Stuck < StandardError; end

  # What several fibers and threads use at once; it notices when two are where one may be.
  class Shared
    def initialize
      @mutexes = Array.new(4) { Mutex.new }
      @inside = Array.new(4, 0)
      @free = 3
      @lock = Mutex.new
      @freed = ConditionVariable.new
      @numbers = Queue.new
      @wanted = Queue.new
      @narrow = SizedQueue.new(2)
      @questions = Queue.new
      @taken = []
      @pushed = 0
      @passed = Queue.new
      @wrong = Queue.new
    end

    attr_reader :wrong

    # Each mutex lets one in.
    def exclusive(index, pause)
      @mutexes[index].synchronize do
        @inside[index] += 1
        wrong << "two in a mutex" if @inside[index] > 1
        pause.call
      ensure
        @inside[index] -= 1
      end
    end

    # Three permits. `shield` runs what must not be cancelled.
    def permitted(timeout, pause, shield)
      return unless acquire(timeout)

      begin
        pause.call
      ensure
        shield.call { release }
      end
    end

    def acquire(timeout)
      @lock.synchronize do
        limit = timeout && (SchedulerCases.now + timeout)
        until @free.positive?
          return false if limit && SchedulerCases.now >= limit

          @freed.wait(@lock, timeout && [limit - SchedulerCases.now, 0].max)
        end
        @free -= 1
      end
      true
    end

    def release
      @lock.synchronize do
        @free += 1
        wrong << "#{@free} permits" if @free > 3
        @freed.signal
      end
    end

    # A number of which there is only one, from another thread.
    def number
      @wanted << true
      @taken << @numbers.pop # no fiber can be interrupted between the two
    end

    def pass(value)
      @narrow << value
      @passed << value
    end

    # Another thread answers.
    def ask(value, answers)
      @questions << [value, answers]
      answers.pop.then { |answer| wrong << "#{value} became #{answer}" unless answer == -value }
    end

    # The threads on the other side.
    def start
      @threads = [feed, drain, answer] + Array.new(2) { |seed| rival(Random.new(SEED + seed)) }
    end

    def stop
      @over = true
      @wanted.close
      @questions.close
      @threads[3..].each(&:join)
      @narrow.close
      @threads.each(&:join)
    end

    # @return [Array<String>] what is wrong in the end
    def faults
      left = Array.new(@numbers.size) { @numbers.pop }
      faults = Array.new(wrong.size) { wrong.pop }
      faults << "numbers were lost or doubled" unless (@taken + left).sort == (1..@pushed).to_a
      faults << "#{@drained} of #{@passed.size} came through" unless @drained == @passed.size
      faults << "#{@free} permits left" unless @free == 3
      faults << "a mutex is still locked" if [@lock, *@mutexes].any?(&:locked?)
      faults
    end

    private

    def feed = Thread.new { @numbers << (@pushed += 1) while @wanted.pop }

    def answer
      Thread.new do
        while (value, answers = @questions.pop)
          answers << -value
        end
      end
    end

    def drain
      @drained = 0
      Thread.new { @drained += 1 while @narrow.pop }
    end

    # A thread that wants the same as the fibers.
    def rival(random)
      Thread.new do
        until @over
          exclusive(random.rand(4), -> { Thread.pass })
          permitted(nil, -> { Thread.pass }, ->(&block) { block.call })
          sleep(random.rand * 0.001)
        end
      end
    end
  end

  # One fiber, which waits in random ways until its share is done.
  class Worker
    KINDS = { nap: 20, exclusive: 20, permitted: 15, number: 15, pass: 8, ask: 8, echo: 8, select: 3, expire: 10, turn: 10,
              join: 1, offload: 1, nested: 2 }.freeze
    ODDS = KINDS.flat_map { |kind, weight| [kind] * weight }.freeze

    attr_reader :state, :cancelled

    def initialize(shared, random, waits)
      @shared = shared
      @random = random
      @left = waits
      @cancelled = 0
      @answers = Queue.new
    end

    def run(progress)
      open_pipes
      while @left.positive?
        @left -= 1
        wait_once
        progress.call
      end
    ensure
      @exposed = false
      @pipes.each(&:close)
    end

    # Asked at the moment of delivery.
    def exposed? = @exposed

    private

    def wait_once
      @state = ODDS.sample(random: @random)
      @exposed = true
      send(@state)
      @exposed = false
    rescue Cancelled
      @exposed = false
      @cancelled += 1
      start_anew
    end

    # What was under way is of no use any longer.
    def start_anew
      @answers = Queue.new
      return unless @state == :echo || @state == :select

      @pipes.each(&:close)
      open_pipes
    end

    # Its own pipes, and a copy of each end for the other side: a thread that may be late.
    def open_pipes = @pipes = IO.pipe

    def shield
      before = @exposed
      @exposed = false
      yield
    ensure
      @exposed = before
    end

    def wrong(what) = @shared.wrong << "#{what} (#{@state})"

    def pause = @random.rand(3).zero? ? sleep(@random.rand * 0.0005) : sleep(0)

    def nap
      seconds = @random.rand * 0.002
      started = SchedulerCases.now
      sleep(seconds)
      wrong("woken too early") if SchedulerCases.now - started < seconds
    end

    def turn = sleep(0)

    def exclusive = @shared.exclusive(@random.rand(4), method(:pause))

    def permitted = @shared.permitted([nil, 0.001, 1].sample(random: @random), method(:pause), method(:shield))

    def number = @shared.number

    def pass = @shared.pass(@random.rand(1000))

    def ask = @shared.ask(1 + @random.rand(1000), @answers)

    def echo
      reader, writer = @pipes
      token = @random.bytes(4).unpack1("H*")
      sender = Thread.new { writer.write(token) } if @random.rand(20).zero?
      writer.write(token) unless sender
      wrong("another's bytes") unless reader.read(8) == token
    ensure
      shield { sender&.join }
    end

    def select
      reader, writer = @pipes
      ready = @random.rand(2).zero?
      writer.write("x") if ready
      found = IO.select([reader], nil, nil, 0.0005)
      wrong("ready: #{ready}, found: #{found}") unless ready ? found == [[reader], [], []] : found.nil?
      wrong("another's byte") if ready && reader.read(1) != "x"
    end

    def expire
      Timeout.timeout(0.0001 + (@random.rand * 0.001)) { Queue.new.pop }
      wrong("woken by nobody")
    rescue Timeout::Error
      nil
    end

    def join = Thread.new { sleep(0.0001) }.then { |t| @random.rand(2).zero? ? t.join : t.join(60) || wrong("not joined") }

    def offload = Plait.offload { :done } == :done || wrong("lost a value")

    def nested = Enumerator.new { |values| sleep(0.0001).then { values << 1 } }.next == 1 || wrong("lost a value")
  end

  def hard_timeout = 120 + (WAITS / 500)

  def test_no_wake_up_is_lost_and_none_is_anothers
    skip(ABORTS) if RUBY_VERSION < "3.3" && !Plait.const_get(:Native).available?

    shared = Shared.new
    workers = Array.new(WORKERS) { |i| Worker.new(shared, Random.new((SEED * 1000) + i), WAITS / WORKERS) }
    done = sent = 0
    assert_no_leaks do
      shared.start
      watched(workers, -> { done }) do
        with_scheduler do |scheduler|
          fibers = workers.map { |worker| Fiber.schedule { worker.run(-> { done += 1 }) } }
          sent = cancel_at_random(scheduler, workers, fibers)
        end
      end
      shared.stop
    end
    assert_empty(shared.faults, "PLAIT_STRESS_SEED=#{SEED}")
    assert_equal([WAITS / WORKERS * WORKERS, sent.call], [done, workers.sum(&:cancelled)], "PLAIT_STRESS_SEED=#{SEED}")
    assert_operator(sent.call, :>, 0)
  end

  private

  # A fiber and a thread cancel, each in its own way, until all have ended.
  # @return [Proc] how many arrived
  def cancel_at_random(scheduler, workers, fibers)
    arrived = 0
    cancel = lambda do |random|
      index = random.rand(WORKERS)
      worker = workers[index]
      scheduler.interrupt(fibers[index], Cancelled) { worker.exposed?.tap { |exposed| arrived += 1 if exposed } }
    end
    Fiber.schedule { Random.new(SEED).then { |random| sleep(0.0005).then { cancel.(random) } while fibers.any?(&:alive?) } }
    thread = Thread.new { Random.new(~SEED).then { |random| sleep(0.0005).then { cancel.(random) } until @over } }
    Fiber.schedule do
      sleep(0.01) while fibers.any?(&:alive?)
      @over = true
      thread.join
    end
    -> { arrived }
  end

  # Ends what hangs, and says where everybody was.
  def watched(workers, progress, &block)
    runner = Thread.new(&block)
    runner.report_on_exception = false
    seen = nil
    until runner.join(PATIENCE)
      raise(Stuck, describe(workers)) if seen == (seen = progress.call)
    end
    runner.value
  rescue Stuck
    runner.kill
    raise
  end

  def describe(workers)
    waiting = workers.select(&:exposed?).group_by(&:state).transform_values(&:size)
    fibers = ObjectSpace.each_object(Fiber).select(&:alive?).reject { |fiber| fiber.equal?(Fiber.current) }
    "PLAIT_STRESS_SEED=#{SEED}: nothing went on for #{PATIENCE} s; waiting: #{waiting}\n" \
      "#{fibers.map { |fiber| (fiber.backtrace || []).first(12).join("\n") }.tally.map { |at, n| "#{n} ×\n#{at}" }.join("\n\n")}"
  end
end
