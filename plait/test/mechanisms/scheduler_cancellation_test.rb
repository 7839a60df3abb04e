# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "open3"
require "timeout"

# A fiber is interrupted where it waits, whatever it waits for: its `ensure` parts run, and nothing that belongs to the
# old wait hits a later one.
class SchedulerCancellationTest < Minitest::Test
  include SchedulerCases

  # As the gem's own: nothing rescues it by accident.
  class Cancelled < Exception; end # rubocop:disable Lint/InheritException

  # One kind of wait: `prepare` makes what it waits for, `wait` waits, `wake` does, too late, what would have ended it.
  Kind = Struct.new(:name, :prepare, :wait, :wake, :clean, keyword_init: true)

  # Nobody may be there any longer.
  def self.open_other_end(path)
    File.open(path, File::WRONLY | File::NONBLOCK).close
  rescue Errno::ENXIO
    nil
  end

  def self.kind(name, prepare: -> {}, wait: ->(_) {}, wake: ->(_) {}, clean: ->(_) {})
    KINDS << Kind.new(name: name, prepare: prepare, wait: wait, wake: wake, clean: clean)
  end

  KINDS = [] # rubocop:disable Style/MutableConstant -- filled below

  close_all = ->(pipe) { pipe.each { |io| io.close unless io.closed? } }
  held = lambda do
    mutex = Mutex.new
    holder = Thread.new { mutex.synchronize { sleep } }
    Thread.pass until mutex.locked? && holder.stop?
    [mutex, holder]
  end

  kind("sleep", wait: ->(_) { sleep })
  kind("sleep with an end", wait: ->(_) { sleep(60) })
  kind("queue", prepare: -> { Queue.new }, wait: :pop.to_proc, wake: ->(queue) { queue << 1 })
  kind("sized queue", prepare: -> { SizedQueue.new(1).push(1) }, wait: ->(queue) { queue << 2 }, wake: :pop.to_proc)
  kind("mutex", prepare: held, wait: ->((mutex, _)) { mutex.synchronize { :mine } }, wake: ->((_, holder)) { holder.run.join })
  kind("condition variable", prepare: -> { [Mutex.new, ConditionVariable.new] },
                             wait: ->((mutex, changed)) { mutex.synchronize { changed.wait(mutex) } },
                             wake: ->((mutex, changed)) { mutex.synchronize { changed.signal } })
  kind("condition variable with a timeout", prepare: -> { [Mutex.new, ConditionVariable.new] },
                                            wait: ->((mutex, changed)) { mutex.synchronize { changed.wait(mutex, 60) } },
                                            wake: ->((mutex, changed)) { mutex.synchronize { changed.signal } })
  # Thread#run wakes only a thread that has begun to sleep.
  ASLEEP = -> { Thread.new { sleep }.tap { |thread| Thread.pass until thread.stop? } }
  kind("thread", prepare: ASLEEP, wait: :join.to_proc, wake: :run.to_proc, clean: :join.to_proc)
  kind("thread with a timeout", prepare: ASLEEP, wait: ->(thread) { thread.join(60) },
                                wake: :run.to_proc, clean: :join.to_proc)
  kind("value of a thread", prepare: ASLEEP, wait: :value.to_proc, wake: :run.to_proc,
                            clean: :join.to_proc)
  kind("read", prepare: -> { IO.pipe }, wait: ->((reader, _)) { reader.read(1) }, wake: ->((_, writer)) { writer << "x" },
               clean: close_all)
  kind("gets", prepare: -> { IO.pipe }, wait: ->((reader, _)) { reader.gets }, wake: ->((_, writer)) { writer.puts },
               clean: close_all)
  kind("read in blocking mode", prepare: -> { IO.pipe.each { |io| io.nonblock = false } },
                                wait: ->((reader, _)) { reader.read(1) }, wake: ->((_, writer)) { writer << "x" },
                                clean: close_all)
  kind("read with a timeout of the IO", prepare: -> { IO.pipe.each { |io| io.timeout = 60 } },
                                        wait: ->((reader, _)) { reader.read(1) }, wake: ->((_, writer)) { writer << "x" },
                                        clean: close_all)
  kind("wait_readable", prepare: -> { IO.pipe }, wait: ->((reader, _)) { reader.wait_readable(60) },
                        wake: ->((_, writer)) { writer << "x" }, clean: close_all)
  kind("write", prepare: -> { IO.pipe }, wait: ->((_, writer)) { writer.write("x" * 1_000_000) },
                wake: ->((reader, _)) { reader.readpartial(100_000) }, clean: close_all)
  kind("select", prepare: -> { IO.pipe }, wait: ->((reader, _)) { IO.select([reader], nil, [reader]) },
                 wake: ->((_, writer)) { writer << "x" }, clean: close_all)
  kind("accept", prepare: -> { TCPServer.new("127.0.0.1", 0) }, wait: ->(server) { server.accept.close },
                 wake: ->(server) { TCPSocket.new("127.0.0.1", server.local_address.ip_port).close }, clean: :close.to_proc)
  kind("process", prepare: -> { spawn("sleep 60") }, wait: ->(pid) { Process.wait(pid) },
                  wake: ->(pid) { Process.kill(:KILL, pid) }, clean: ->(pid) { Process.detach(pid).join })
  kind("popen", prepare: -> { IO.popen("sleep 60") }, wait: :read.to_proc, wake: ->(io) { Process.kill(:KILL, io.pid) },
                clean: :close.to_proc)
  kind("lock of a file", prepare: -> { Array.new(2) { File.open(__FILE__) }.each { |f| f.flock(File::LOCK_EX | File::LOCK_NB) } },
                         wait: ->((_, file)) { file.flock(File::LOCK_EX) }, wake: ->((file, _)) { file.flock(File::LOCK_UN) },
                         clean: close_all)
  kind("a FIFO to be opened", prepare: -> { Dir.mktmpdir.then { |folder| File.join(folder, "fifo").tap { |f| File.mkfifo(f) } } },
                              wait: ->(path) { File.open(path) },
                              wake: ->(path) { open_other_end(path) },
                              clean: ->(path) { FileUtils.rm_rf(File.dirname(path)) })
  kind("offload", prepare: -> { Queue.new }, wait: ->(queue) { Plait.offload { queue.pop } }, wake: ->(queue) { queue << 1 })
  kind("an enumerator that sleeps", prepare: -> { Enumerator.new { |values| sleep.then { values << 1 } } }, wait: :next.to_proc)
  kind("a fiber of one's own", prepare: -> { Queue.new }, wait: ->(queue) { Fiber.new { Fiber.new { queue.pop }.resume }.resume },
                               wake: ->(queue) { queue << 1 })
  kind("another timeout", wait: ->(_) { Timeout.timeout(60) { sleep } })
  kind("a scope", wait: ->(_) { Plait.run(on: :fibers) { |scope| scope.async { sleep } } })
  kind("a run of fibers", wait: ->(_) { Plait.map([1, 2], on: :fibers) { sleep } })

  # Ends by an exception that the loop delivers.
  KINDS.each do |kind|
    define_method("test_interrupt_#{kind.name.tr(" ", "_")}") do
      events = run_and_end(kind) { |scheduler, fiber| scheduler.interrupt(fiber, Cancelled) }
      assert_equal([Cancelled, :ensured, :slept], events)
    end

    # The wake-up of another thread may be under way already.
    define_method("test_interrupt_and_wake_#{kind.name.tr(" ", "_")}") do
      events = run_and_end(kind, wake: :before) { |scheduler, fiber| scheduler.interrupt(fiber, Cancelled) }
      assert_includes([[Cancelled, :ensured, :slept], [:woken, :ensured, Cancelled]], events)
    end

    define_method("test_time_out_#{kind.name.tr(" ", "_")}") do
      events = []
      subject = kind.prepare.call
      assert_no_leaks do
        in_fiber do
          time_out(kind, subject, events)
          undisturbed(events) { kind.wake.call(subject) }
        end
      end
      kind.clean.call(subject)
      assert_equal([:ensured, Timeout::Error, :slept], events)
    end
  end

  # --- What bodies do with it

  def test_a_rescue_of_a_body_does_not_swallow_it
    swallowed = nil
    assert_raises(KeyError) do
      Plait.map([1, 2], on: :fibers) do |item|
        sleep(0.01).then { raise KeyError } if item == 2
        sleep
      rescue StandardError => e
        raise if e.is_a?(KeyError)

        swallowed = e
      end
    end
    assert_nil(swallowed)
  end

  def test_nor_does_it_swallow_a_timeout
    assert_raises(Plait::TimeoutError) do
      Plait.map([1], on: :fibers, timeout: 0.02) do
        loop do
          sleep
        rescue StandardError
          flunk("swallowed")
        end
      end
    end
  end

  def test_ensure_parts_may_wait
    steps = []
    assert_raises(KeyError) do
      Plait.map([1, 2], on: :fibers) do |item|
        item == 2 ? sleep(0.01).then { raise KeyError } : sleep
      ensure
        sleep(0.01)
        steps << item
      end
    end
    assert_equal([1, 2], steps.sort)
  end

  def test_the_inner_of_two_timeouts
    in_fiber do
      error = assert_raises(Timeout::Error) do
        Timeout.timeout(60, nil, "outer") { Timeout.timeout(0.01, nil, "inner") { sleep } }
      end
      assert_equal("inner", error.message)
    end
  end

  def test_the_outer_of_two_timeouts
    in_fiber do
      error = assert_raises(Timeout::Error) do
        Timeout.timeout(0.01, nil, "outer") do
          Timeout.timeout(60, nil, "inner") { sleep }
        rescue Timeout::Error
          flunk("it is the outer one's")
        end
      end
      assert_equal("outer", error.message)
    end
  end

  def test_a_timeout_that_did_not_fire_is_forgotten
    in_fiber do
      assert_equal(:done, Timeout.timeout(1) { sleep(0.001).then { :done } })
      sleep(1.1)
    end
  end

  def test_a_timeout_with_a_class_and_a_message
    in_fiber do
      error = assert_raises(KeyError) { Timeout.timeout(0.01, KeyError, "too late") { sleep } }
      assert_equal("too late", error.message)
    end
  end

  # --- What an interrupted fiber was given belongs to the others

  # Two wait for a mutex; the first is chosen, and at that moment interrupted.
  def test_a_mutex_that_an_interrupted_fiber_was_given_goes_to_the_next
    got = []
    with_scheduler do |scheduler|
      mutex = Mutex.new.lock
      first = Fiber.schedule { absorb { mutex.synchronize { got << :first } } }
      Fiber.schedule { mutex.synchronize { got << :second } }
      scheduler.interrupt(first, Cancelled)
      mutex.unlock
    end
    assert_includes(got, :second)
  end

  def test_a_mutex_that_was_given_from_another_thread_goes_to_the_next
    got = []
    with_scheduler do |scheduler|
      mutex = Mutex.new
      holder = holding(mutex)
      first = Fiber.schedule { absorb { mutex.synchronize { got << :first } } }
      Fiber.schedule { mutex.synchronize { got << :second } }
      holder.run.join
      scheduler.interrupt(first, Cancelled)
    end
    assert_includes(got, :second)
  end

  def test_an_entry_of_a_queue_goes_to_the_next
    [:itself, ->(work) { Thread.new(&work).join }].each do |how|
      got = []
      with_scheduler do |scheduler|
        queue = Queue.new
        first, = Array.new(2) { |i| Fiber.schedule { absorb { got << [i, queue.pop] } } }
        push = -> { queue << :entry }
        how == :itself ? push.call : how.call(push)
        scheduler.interrupt(first, Cancelled)
        Fiber.schedule { sleep(0.05).then { queue.close } }
      end
      assert_includes([[[0, :entry], [1, nil]], [[1, :entry]]], got)
    end
  end

  def test_a_place_in_a_sized_queue_goes_to_the_next
    got = []
    with_scheduler do |scheduler|
      queue = SizedQueue.new(1).push(:full)
      first, = Array.new(2) { |i| Fiber.schedule { absorb { queue.push(i).then { got << i } } } }
      scheduler.interrupt(first, Cancelled)
      Thread.new { queue.pop }.join
      Fiber.schedule { sleep(0.02).then { queue.clear } }
    end
    assert_includes(got, 1)
  end

  def test_a_signal_goes_to_the_next
    got = []
    with_scheduler do |scheduler|
      mutex = Mutex.new
      changed = ConditionVariable.new
      first, = Array.new(2) { |i| Fiber.schedule { absorb { mutex.synchronize { changed.wait(mutex).then { got << i } } } } }
      scheduler.interrupt(first, Cancelled)
      Thread.new { mutex.synchronize { changed.signal } }.join
    end
    assert_includes(got, 1)
  end

  # Interrupted while it waits to get the mutex back: it gets it back all the same, so that `synchronize` can let it go.
  def test_a_condition_variable_is_left_with_its_mutex
    [nil, 60].each do |limit|
      owned = nil
      with_scheduler do |scheduler|
        mutex = Mutex.new
        changed = ConditionVariable.new
        fiber = Fiber.schedule { absorb { mutex.synchronize { wait_and_see(mutex, changed, limit) { |o| owned = o } } } }
        Fiber.schedule do
          mutex.synchronize do
            changed.signal
            sleep(0.005)
            scheduler.interrupt(fiber, Cancelled)
            sleep(0.01)
          end
        end
      end
      assert(owned)
    end
  end

  # --- From outside

  def test_another_thread_interrupts
    reached = nil
    with_scheduler do |scheduler|
      fiber = Fiber.schedule do
        sleep
      rescue Cancelled => e
        reached = e.message
      end
      Thread.new { scheduler.interrupt(fiber, Cancelled, "from afar") }.join
    end
    assert_equal("from afar", reached)
  end

  def test_an_interrupt_that_no_longer_concerns_the_fiber_is_dropped
    finished = false
    with_scheduler do |scheduler|
      concerned = true
      fiber = Fiber.schedule do
        sleep(0.01)
        concerned = false
        sleep(0.02)
        finished = true
      end
      Fiber.schedule { sleep(0.02).then { scheduler.interrupt(fiber, Cancelled) { concerned } } }
    end
    assert(finished)
  end

  def test_an_interrupt_of_a_fiber_that_has_ended_is_dropped
    with_scheduler do |scheduler|
      fiber = Fiber.schedule { nil }
      scheduler.interrupt(fiber, Cancelled)
    end
  end

  # Fiber.schedule gives way to the new fiber; an interrupt there must not leave a turn behind that a later wait would get.
  def test_an_interrupt_of_a_fiber_that_has_just_scheduled_another
    slept = nil
    with_scheduler do |scheduler|
      Fiber.schedule do
        me = Fiber.current
        begin
          Fiber.schedule { scheduler.interrupt(me, Cancelled).then { 3.times { sleep(0) } } }
          sleep
        rescue Cancelled
          slept = elapsed { sleep(0.05) }
        end
      end
    end
    assert_operator(slept, :>=, 0.05)
  end

  # Else a fiber that can't be raised into yet; its error would be lost.
  def test_an_interrupted_fiber_that_ends_by_an_error_as_of_ruby
    error = assert_raises(FiberError) do
      with_scheduler do |scheduler|
        fiber = Fiber.schedule do
          sleep
        rescue Cancelled
          raise FiberError, "attempt to raise a resuming fiber"
        end
        scheduler.interrupt(fiber, Cancelled)
      end
    end

    assert_match(/resuming/, error.message)
  end

  private

  # @return [Array] what happened
  def run_and_end(kind, wake: :after, &interrupt)
    events = []
    subject = kind.prepare.call
    assert_no_leaks do
      with_scheduler do |scheduler|
        fiber = Fiber.schedule { observe(events) { kind.wait.call(subject) }.then { undisturbed(events) { nil } } }
        Fiber.schedule do
          sleep(0.01)
          kind.wake.call(subject) if wake == :before
          interrupt.call(scheduler, fiber)
          sleep(0) # it is delivered
          kind.wake.call(subject) if wake == :after
        end
      end
    end
    kind.clean.call(subject)
    events
  end

  def observe(events)
    yield
    events << :woken
  rescue Cancelled
    events << Cancelled
  ensure
    events << :ensured
  end

  def time_out(kind, subject, events)
    Timeout.timeout(0.01) do
      kind.wait.call(subject)
    ensure
      events << :ensured
    end
  rescue Timeout::Error => e
    events << e.class
  end

  # A wait for which nothing of the old one may have consequences.
  def undisturbed(events, &block)
    took = elapsed do
      later(0, &block).join
      sleep(0.03)
    end
    events << (took >= 0.03 ? :slept : "woken after #{took} s")
  rescue Cancelled
    events << Cancelled
  end

  def elapsed
    started = now
    yield
    now - started
  end

  def absorb
    yield
  rescue Cancelled
    nil
  end

  def holding(mutex)
    Thread.new { mutex.synchronize { sleep } }.tap { |thread| Thread.pass until mutex.locked? && thread.stop? }
  end

  def wait_and_see(mutex, changed, limit)
    changed.wait(mutex, limit)
  ensure
    yield mutex.owned?
  end
end
