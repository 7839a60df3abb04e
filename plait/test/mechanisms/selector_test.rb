# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "socket"

# What a wait for a descriptor meets: others who wait for the same one, files that share or change its number, fibers that
# leave it by an exception, signals.
class SelectorTest < Minitest::Test
  include SchedulerCases

  class Cancelled < StandardError; end

  OWN = Plait.const_defined?(:NativeSelector)

  # --- What nobody has any longer

  def test_an_io_that_was_waited_for_is_closed_when_it_is_garbage
    closed = in_fiber do
      writers = [] # kept: a hangup would take back that the other end is waited for
      numbers = Array.new(50) { forgotten_reader(writers) }
      GC.start
      sleep(0.001)
      GC.start
      numbers.count { |number| free?(number) }.tap { writers.each(&:close) }
    end
    # Ruby looks for references in what lies on the stack, too, and finds some that are none.
    assert_operator(closed, :>, 25)
  end

  # --- Several fibers, one descriptor

  def test_all_who_wait_for_the_same_event_are_woken
    with_pipe do |reader, writer|
      woken = []
      in_fiber do
        fibers = Array.new(5) { |index| Fiber.schedule { woken << [index, reader.wait_readable] } }
        writer << "x"
        wait_for_end(fibers)
      end
      assert_equal(5.times.map { |index| [index, reader] }, woken.sort_by(&:first))
    end
  end

  def test_each_is_woken_by_its_own_event
    with_sockets do |ours, theirs|
      fill(ours)
      order = []
      in_fiber do
        fibers = [Fiber.schedule { order << [:write, ours.wait_writable] },
                  Fiber.schedule { order << [:read, ours.wait_readable] }]
        theirs << "x"
        sleep(0.001) while fibers.last.alive?
        assert_predicate(fibers.first, :alive?)
        drain(theirs)
        wait_for_end(fibers)
      end
      assert_equal([[:read, ours], [:write, ours]], order)
    end
  end

  def test_urgent_data
    listener = TCPServer.new("127.0.0.1", 0)
    ours = TCPSocket.new("127.0.0.1", listener.local_address.ip_port)
    theirs = listener.accept
    events = in_fiber do
      fiber = Fiber.schedule { sleep(0.01).then { theirs.send("!", Socket::MSG_OOB) } }
      ours.wait(IO::PRIORITY, 10).tap { wait_for_end([fiber]) }
    end
    assert(events)
  ensure
    [listener, ours, theirs].compact.each(&:close)
  end

  def test_a_reader_that_is_gone_ends_the_wait_for_a_full_pipe
    skip "io-event waits for ever" unless OWN

    with_pipe do |reader, writer|
      fill(writer)
      error = in_fiber do
        Fiber.schedule { sleep(0.01).then { reader.close } }
        assert_raises(Errno::EPIPE) { writer.write("x") }
      end
      assert(error)
    end
  end

  # --- Always ready

  def test_files_are_always_ready
    skip "io-event lets nobody else run" unless OWN

    File.open(__FILE__) do |file|
      others = 0
      in_fiber do
        fiber = Fiber.schedule { 10.times { sleep(0.001).then { others += 1 } } }
        assert_equal(file, file.wait_readable) while fiber.alive? # each lets the others run
      end
      assert_equal(10, others)
    end
    assert_equal(1, in_fiber { File.open(File::NULL, "r+") { |null| [null.read, null.wait_writable && null.write("x")] } }.last)
  end

  # --- The same number, another file

  def test_a_number_that_is_used_again
    in_fiber do
      numbers = Array.new(20) do
        with_pipe { |reader, writer| wait_once(reader, writer).then { reader.fileno } }
      end
      assert_operator(numbers.uniq.size, :<, numbers.size, "no number was used again: #{numbers}")
    end
  end

  # The new IO must not come to lie where the old one was, either.
  def test_a_number_that_was_closed_by_another_thread
    in_fiber do
      30.times do
        reader, writer = IO.pipe
        wait_once(reader, writer)
        Thread.new { [reader, writer].each(&:close) }.join
        reader = writer = nil
        GC.start
      end
    end
  end

  def test_reopen
    with_pipe do |reader, writer|
      with_pipe do |other, others_writer|
        in_fiber do
          wait_once(reader, writer)
          reader.reopen(other)
          wait_once(reader, others_writer)
        end
      end
    end
  end

  # The kernel goes on reporting the file under a number that isn't its own any longer.
  def test_a_closed_descriptor_whose_file_lives_on
    skip "io-event's selector turns for ever" unless OWN

    with_pipe do |reader, writer|
      twin = reader.dup
      cpu = in_fiber do
        wait_once(reader, writer)
        Thread.new { reader.close }.join # else the scheduler hears of it
        writer << "x" # for the twin
        with_pipe do |again, writer_again|
          assert_nil(again.wait_readable(0.02))
          wait_once(again, writer_again)
          cpu_of_sleeping(0.3)
        end
      end
      assert_operator(cpu, :<, 0.1)
      assert_equal("x", twin.read_nonblock(1))
    ensure
      twin&.close
    end
  end

  def test_waits_survive_it
    skip "io-event's selector turns for ever" unless OWN

    with_pipe do |reader, writer|
      with_pipe do |other, others_writer|
        twin = reader.dup
        in_fiber do
          fiber = Fiber.schedule { assert_equal("late", other.readpartial(9)) }
          wait_once(reader, writer)
          Thread.new { reader.close }.join
          writer << "x"
          sleep(0.02)
          others_writer << "late"
          wait_for_end([fiber])
        end
      ensure
        twin&.close
      end
    end
  end

  def test_a_child_that_has_the_file_open_too
    skip "io-event's selector turns for ever" unless OWN

    with_pipe do |reader, writer|
      pid = nil
      cpu = in_fiber do
        wait_once(reader, writer)
        pid = fork { sleep }
        reader.close
        writer << "x"
        cpu_of_sleeping(0.2)
      end
      assert_operator(cpu, :<, 0.1)
    ensure
      Process.kill(:KILL, pid)
      Process.wait(pid)
    end
  end

  def test_the_child_of_a_fork_leaves_its_parents_waits_alone
    with_pipe do |reader, writer|
      in_fiber do
        fiber = Fiber.schedule { assert_equal("x", reader.readpartial(1)) }
        pid = fork { exit!(in_fiber { with_pipe { |own, own_writer| wait_once(own, own_writer) } } ? 0 : 1) }
        assert_predicate(Process::Status.wait(pid), :success?)
        writer << "x"
        wait_for_end([fiber])
      end
    end
  end

  # --- Leaving a wait

  def test_who_was_raised_into_is_not_woken_by_the_old_event
    with_pipe do |reader, writer|
      slept = nil
      in_fiber do |scheduler|
        fiber = Fiber.schedule do
          assert_raises(Cancelled) { reader.wait_readable }
          started = SchedulerCases.now
          sleep(0.05)
          slept = SchedulerCases.now - started
        end
        scheduler.interrupt(fiber, Cancelled)
        sleep(0.001)
        writer << "x"
        wait_for_end([fiber])
      end
      assert_operator(slept, :>=, 0.05)
    end
  end

  # By the first of those for whom it had come.
  def test_who_was_raised_into_when_its_event_had_come
    with_pipe do |reader, writer|
      ended = []
      in_fiber do |scheduler|
        fibers = Array.new(3) do
          Fiber.schedule do
            ended << reader.wait_readable
            next unless ended.one?

            scheduler.send(:requeue_current)
            fibers.find { |fiber| fiber.alive? && !fiber.equal?(Fiber.current) }.raise(Cancelled)
          rescue Cancelled
            ended << :cancelled
          end
        end
        writer << "x"
        wait_for_end(fibers)
      end
      assert_equal([reader, :cancelled, reader], ended)
    end
  end

  def test_a_timeout_leaves_no_trace
    with_pipe do |reader, writer|
      in_fiber do
        20.times { assert_nil(reader.wait_readable(0.001)) }
        wait_once(reader, writer)
      end
    end
  end

  def test_dead_fibers_are_not_resumed
    with_pipe do |reader, writer|
      in_fiber do |scheduler|
        fibers = Array.new(10) { Fiber.schedule { assert_raises(Cancelled) { reader.wait_readable } } }
        fibers.each { |fiber| scheduler.interrupt(fiber, Cancelled) }
        wait_for_end(fibers)
        wait_once(reader, writer)
      end
    end
  end

  def test_who_waits
    skip "the twin does not know" unless OWN

    with_pipe do |reader, writer|
      in_fiber do |scheduler|
        assert_empty(scheduler.waiting_for(reader))
        fibers = [Fiber.schedule { reader.readpartial(1) }, Fiber.schedule { reader.wait_readable(60) }]
        assert_equal(fibers.map(&:object_id).sort, scheduler.waiting_for(reader).map(&:object_id).sort)
        assert_empty(scheduler.waiting_for(writer))
        writer << "xx"
        wait_for_end(fibers)
        assert_empty(scheduler.waiting_for(reader))
      end
    end
  end

  # --- Mode and timeout of the IO

  def test_the_mode_is_given_back
    with_pipe do |reader, writer|
      reader.nonblock = false
      in_fiber do |scheduler|
        wait_once(reader, writer)
        refute_predicate(reader, :nonblock?)
        fiber = Fiber.schedule { assert_raises(Cancelled) { reader.readpartial(1) } }
        scheduler.interrupt(fiber, Cancelled)
        wait_for_end([fiber])
        refute_predicate(reader, :nonblock?)
      end
    end
  end

  def test_the_timeout_of_an_io
    with_pipe do |reader, writer|
      reader.timeout = 0.02
      in_fiber do
        assert_raises(IO::TimeoutError) { reader.readpartial(1) }
        assert_raises(IO::TimeoutError) { reader.wait_readable }
        writer << "x"
        assert_equal("x", reader.readpartial(1))
      end
    end
  end

  # --- Time, signals, other threads

  def test_nothing_is_woken_early
    in_fiber do
      [0.0001, 0.0014, 0.0025].cycle.first(60).each do |seconds|
        started = SchedulerCases.now
        sleep(seconds)
        assert_operator(SchedulerCases.now - started, :>=, seconds)
      end
    end
  end

  # A handler runs on the loop's thread, where nobody rings: it must not do so between the last look and the sleep.
  def test_a_signal_that_readies_a_fiber
    program = <<~RUBY
      require "plait"
      queue = Queue.new
      trap(:USR1) { queue << 1 }
      Fiber.set_scheduler(Plait::Scheduler.new)
      sender = Process.spawn("ruby", "-e", "500.times { Process.kill(:USR1, \#{Process.pid}); sleep(rand / 2_000) }")
      Fiber.schedule { Process.wait(sender); queue << nil }
      Fiber.schedule { count = 0; count += 1 while queue.pop; puts(count.positive?) }
    RUBY
    assert_equal("true\n", IO.popen([RbConfig.ruby, *Support::FLAGS, "-e", program], &:read))
  end

  def test_a_signal_ends_a_sleep
    program = <<~RUBY
      require "plait"
      $stdout.sync = true
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule { $stdin.read(1) }
      begin
        Fiber.schedule { puts("ready") }
        Fiber.scheduler.run
      rescue Interrupt
        puts("interrupted")
        exit!
      end
    RUBY
    IO.popen([RbConfig.ruby, *Support::FLAGS, "-e", program], "r+") do |io|
      assert_equal("ready\n", io.gets)
      Process.kill(:INT, io.pid)
      assert_equal("interrupted\n", io.gets)
    end
  end

  def test_children
    in_fiber do
      fibers = Array.new(5) do |index|
        Fiber.schedule { assert_equal(index, Process.wait2(fork { exit!(index) }).last.exitstatus) }
      end
      wait_for_end(fibers)
    end
  end

  # --- Garbage

  def test_waits_under_stress_of_the_garbage_collector
    in_fiber do
      with_pipe do |reader, writer|
        fibers = Array.new(3) { Fiber.schedule { 3.times { reader.readpartial(1) } } }
        stressed { 9.times { writer.write("x").then { sleep(0) } } }
        wait_for_end(fibers)
      end
    end
  end

  def test_who_waits_is_kept
    with_pipe do |reader, writer|
      woken = 0
      in_fiber do
        20.times { Fiber.schedule { reader.wait_readable.then { woken += 1 } } }
        3.times { GC.start }
        writer << "x"
        sleep(0.001) until woken == 20
      end
    end
  end

  def test_waits_that_are_compacted
    skip "no compaction here" unless GC.respond_to?(:compact)

    in_fiber do
      pipes = Array.new(50) { IO.pipe }
      fibers = pipes.map { |reader, _| Fiber.schedule { assert_equal("x", reader.read(1)) } }
      GC.compact
      pipes.each { |pair| pair.last << "x" }
      wait_for_end(fibers)
      pipes.flatten.each(&:close)
    end
  end

  def test_fibers_that_nobody_resumes
    assert_no_leaks do
      10.times do
        with_pipe do |reader, _|
          Thread.new do
            scheduler = Plait::Scheduler.new
            Fiber.set_scheduler(scheduler)
            Fiber.schedule { reader.read }
            scheduler.abandon
            Fiber.set_scheduler(nil)
          end.join
        end
        GC.start
      end
    end
  end

  private

  # @return [Integer] the number of a pipe's end that was waited for
  def forgotten_reader(writers)
    reader, writer = IO.pipe
    writers << writer
    writer << "x"
    reader.wait_readable.read_nonblock(1) # what is left would do so, too
    reader.fileno
  end

  def free?(number)
    IO.for_fd(number, autoclose: false)
    false
  rescue Errno::EBADF
    true
  end

  def with_pipe
    reader, writer = IO.pipe
    yield reader, writer
  ensure
    [reader, writer].compact.each { |io| io.close unless io.closed? }
  end

  def with_sockets
    ours, theirs = UNIXSocket.pair
    yield ours, theirs
  ensure
    [ours, theirs].compact.each(&:close)
  end

  # A wait that has to sleep.
  def wait_once(reader, writer)
    Fiber.schedule { sleep(0.001).then { writer << "x" } }
    assert_equal("x", reader.readpartial(1))
  end

  def wait_for_end(fibers)
    sleep(0.001) while fibers.any?(&:alive?)
  end

  def fill(writer)
    writer.write_nonblock("x" * 65_536) while true # rubocop:disable Style/InfiniteLoop -- StopIteration is not what ends it
  rescue IO::WaitWritable
    nil
  end

  def drain(reader)
    reader.read_nonblock(65_536) while true # rubocop:disable Style/InfiniteLoop
  rescue IO::WaitReadable
    nil
  end

  # @return [Float] CPU seconds of this thread
  def cpu_of_sleeping(seconds)
    before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    sleep(seconds)
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - before
  end

  def stressed
    GC.stress = true
    yield
  ensure
    GC.stress = false
  end
end
