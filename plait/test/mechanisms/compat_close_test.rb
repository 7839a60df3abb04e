# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "support/fresh_ruby"
require "timeout"

# Who waits for an IO that another fiber closes gets an IOError, as threads do.
class CompatCloseTest < Minitest::Test
  include SchedulerCases

  CLOSED = [IOError, "stream closed in another thread"].freeze

  # Seconds: none of the waits takes as long, and a test that fails ends all the same.
  PATIENCE = 60
  LIMIT = 30

  def test_reading
    assert_equal(CLOSED, closed_under { |reader| reader.read(1) })
    assert_equal(CLOSED, closed_under(&:gets))
    assert_equal(CLOSED, closed_under { |reader| reader.readpartial(1) })
  end

  def test_reading_in_blocking_mode
    assert_equal(CLOSED, closed_under(IO.pipe.each { |io| io.nonblock = false }) { |reader| reader.readpartial(1) })
  end

  def test_waiting_with_a_timeout_and_without
    assert_equal(CLOSED, closed_under(&:wait_readable))
    assert_equal(CLOSED, closed_under { |reader| reader.wait_readable(PATIENCE) })
  end

  def test_an_io_with_a_timeout_of_its_own
    pipe = IO.pipe.each { |io| io.timeout = PATIENCE }
    assert_equal(CLOSED, closed_under(pipe) { |reader| reader.read(1) })
  end

  # Ruby runs between the look at its number and the read.
  def test_an_io_with_a_timeout_that_is_closed_as_a_read_of_it_begins
    ours, theirs = UNIXSocket.pair.each { |io| io.timeout = PATIENCE }
    others = nil
    closer = TracePoint.new(:call) do |call|
      next if others || call.method_id != :bounded

      others = Thread.new { ours.close || UNIXSocket.pair }.value
      others.last.write("somebody else's")
    end
    closer.enable { Plait.run(on: :fibers) { assert_raises(IOError) { ours.readpartial(100) } } }
    refute_nil(others)
  ensure
    [theirs, *others].each(&:close)
  end

  def test_writing
    assert_equal(CLOSED, closed_under(full_pipe) { |full| full.syswrite("more") })
  end

  # Another thread closes it while the fiber's event is at hand and another fiber has the loop.
  def test_a_file_that_gets_the_number_of_a_closed_one_is_not_read
    reader, writer = IO.pipe
    other = nil
    got = closed_by_a_thread(reader, meanwhile: -> { other = IO.pipe.tap { |pipe| pipe.last.syswrite("secret") } },
                                     event: -> { writer.syswrite("x") }) { reader.readpartial(100) }
    assert_kind_of(IOError, got)
    assert_equal("secret", other.first.read_nonblock(100))
  ensure
    [writer, *other].each(&:close)
  end

  def test_a_file_that_gets_the_number_of_a_closed_one_is_not_written
    writer, reader = full_pipe
    other = nil
    got = closed_by_a_thread(writer, meanwhile: -> { other = IO.pipe }, event: -> { reader.read_nonblock(1 << 20) }) do
      writer.syswrite("private")
    end
    assert_kind_of(IOError, got)
    assert_equal(:wait_readable, other.first.read_nonblock(100, exception: false))
  ensure
    [reader, *other].each(&:close)
  end

  def test_sockets
    assert_equal(CLOSED, closed_under(UNIXSocket.pair) { |socket| socket.recv(1) })
    server = TCPServer.new("127.0.0.1", 0)
    assert_equal(CLOSED, closed_under([server], &:accept))
  end

  # As the threads that wait for it.
  def test_reopen
    reader, *others = IO.pipe + IO.pipe
    others.last << "of the other file"
    error = nil
    in_fiber do
      waiter = Fiber.schedule { error = error_of { Timeout.timeout(LIMIT) { reader.readpartial(1) } } }
      sleep(0)
      reader.reopen(others[1])
      wait_until(what: "the end of the wait") { !waiter.alive? }
    end
    assert_equal(CLOSED, error)
  ensure
    [reader, *others].each(&:close)
  end

  def test_select
    assert_equal(IOError, closed_under { |reader| IO.select([reader]) }.first)
    assert_equal(IOError, closed_under { |reader| IO.select([reader], nil, nil, PATIENCE) }.first)
  end

  def test_close_read_and_close_write
    assert_equal(CLOSED, closed_under(with: :close_read) { |reader| reader.read(1) })
    assert_equal(CLOSED, closed_under(full_pipe, with: :close_write) { |full| full.syswrite("more") })
  end

  # It has another half, which goes on.
  def test_half_of_a_socket_ends_as_ever
    assert_equal("", closed_under(UNIXSocket.pair, with: :close_read, &:read))
    in_fiber do
      reader, writer = IO.pipe
      Fiber.schedule { assert_raises(IOError) { reader.close_write } }
      assert_nil(reader.wait_readable(0.01))
      writer.close # until then it lives: a garbage collection would close it
    end
  end

  def test_all_who_wait
    errors = in_fiber do
      reader, = IO.pipe
      got = []
      fibers = Array.new(3) { Fiber.schedule { got << error_of { reader.read(1) } } }
      sleep(0)
      reader.close
      sleep(0.001) while fibers.any?(&:alive?)
      got
    end
    assert_equal([CLOSED] * 3, errors)
  end

  # Each that is told closes it too, as an `ensure` does.
  def test_closing_it_in_turn
    in_fiber do
      reader, = IO.pipe
      closed = Array.new(3) do
        [].tap do |got|
          Fiber.schedule do
            got << error_of { reader.read(1) }
            reader.close
            got << error_of { sleep(0.001) }
          end
        end
      end
      sleep(0)
      reader.close
      wait_until { closed.all? { |got| got.size == 2 } }
      assert_equal([[CLOSED, nil]] * 3, closed)
    end
  end

  def test_who_waits_again_learns_that_it_is_closed
    in_fiber do
      reader, = IO.pipe
      seen = []
      fiber = Fiber.schedule do
        reader.read(1)
      rescue IOError
        seen << reader.closed?
        retry unless reader.closed?
      end
      sleep(0)
      reader.close
      wait_until { !fiber.alive? }
      assert_equal([false, true], seen)
    end
  end

  # The next one with the descriptor's number is nobody's but its own.
  def test_the_bytes_of_the_next_io_arrive_there
    GC.start
    GC.disable # it would free lower numbers
    in_fiber do
      20.times do
        old, = IO.pipe
        number = old.fileno
        Fiber.schedule { assert_equal(CLOSED, error_of { old.read(1) }) }
        old.close
        reader, writer = IO.pipe
        assert_includes([reader.fileno, writer.fileno], number)
        writer << "x"
        assert_equal("x", reader.read(1))
      end
    end
  ensure
    GC.enable
  end

  def test_others_are_left_alone
    in_fiber do
      pipes = Array.new(2) { IO.pipe }
      got = []
      fiber = Fiber.schedule { got << pipes[1].first.read(1) }
      pipes[0].each(&:close)
      pipes[1].last << "x"
      wait_until { !fiber.alive? }
      assert_equal(["x"], got)
    end
  end

  def test_closing_in_another_thread
    [:read.to_proc, :wait_readable.to_proc, ->(reader) { reader.wait_readable(PATIENCE) }].each do |wait|
      assert_equal(CLOSED, closed_under(by: ->(close) { Thread.new(&close).join }) { |reader| wait.call(reader) })
    end
  end

  def test_closing_in_the_loop_of_another_thread
    assert_equal(CLOSED, closed_under(by: ->(close) { Thread.new { in_fiber { close.call } }.join }) { |reader| reader.read(1) })
  end

  def test_closing_outside_of_any_loop
    reader, writer = IO.pipe # one that is nobody's is closed by the garbage collector
    waiting = Queue.new
    thread = Thread.new { in_fiber { |scheduler| waiting.push(scheduler).then { error_of { reader.read(1) } } } }
    scheduler = waiting.pop
    wait_until { scheduler.waiting_for(reader).any? }
    reader.close
    assert_equal(CLOSED, thread.value)
  ensure
    writer.close
  end

  # Nobody keeps a loop that has ended, in whatever way.
  def test_loops_that_have_ended_are_forgotten
    before = loops.size
    20.times do |index|
      with_scheduler { index.odd? && raise(KeyError) } rescue nil # rubocop:disable Style/RescueModifier
    end
    with_scheduler { assert_operator(loops.size, :<=, before + 1) }
  end

  # It can't wait until they have left, but they leave.
  def test_closing_outside_of_the_fibers
    error = nil
    with_scheduler do
      reader, = IO.pipe
      Fiber.schedule { error = error_of { reader.read(1) } }
      reader.close
    end
    assert_equal(CLOSED, error)
  end

  # Ruby 4.0 waits until the thread has left, and asks the scheduler to wake the fiber that no hook has heard of.
  def test_closing_outside_of_the_fibers_what_another_thread_reads
    reader, writer = IO.pipe
    thread = Thread.new { error_of { reader.read(1) } }
    wait_until { thread.stop? }
    with_scheduler { reader.close }
    assert_equal(CLOSED, thread.value)
  ensure
    writer.close
  end

  # A cancellation that arrives while the others leave.
  def test_it_is_closed_even_so
    in_fiber do |scheduler|
      reader, = IO.pipe
      Fiber.schedule { error_of { reader.read(1) } }
      scheduler.interrupt(Fiber.current, ArgumentError)
      assert_raises(ArgumentError) { reader.close }
      assert_predicate(reader, :closed?)
    end
  end

  def test_what_it_returns
    in_fiber do
      reader, writer = IO.pipe
      Fiber.schedule { error_of { reader.read(1) } }
      assert_equal([nil, nil, nil], [reader.close, reader.close, writer.close])
      assert_raises(IOError) { reader.read }
    end
  end

  def test_nothing_is_kept_in_mind
    in_fiber do |scheduler|
      reader, writer = IO.pipe
      later(0.001) { writer << "xy" }
      reader.wait_readable(PATIENCE)
      reader.read(1)
      Timeout.timeout(0.001) { writer.wait_priority } rescue nil # rubocop:disable Style/RescueModifier
      assert_empty(scheduler.waiting_for(reader) + scheduler.waiting_for(writer))
      refute(scheduler.turn_away(reader))
      refute(scheduler.turn_away(writer))
    end
  end

  class Interrupted < StandardError; end
  private_constant :Interrupted

  def test_an_interrupt_before_a_wait_has_its_timer
    io_wait = Plait::Scheduler.const_get(:IOHooks).instance_method(:io_wait)
    made = TracePoint.new(:return) { raise Interrupted }
    in_fiber do |scheduler|
      reader, writer = IO.pipe
      made.enable(target: Plait::Scheduler.const_get(:Wait).instance_method(:initialize)) do
        assert_raises(Interrupted) { io_wait.bind_call(scheduler, reader, IO::READABLE, PATIENCE) }
      end
      [reader, writer].each(&:close)
    end
  end

  # The same without the native part.
  def test_the_twin
    skip("this is it") unless Plait.const_get(:Native).available?

    result = Support::FreshRuby.run("load ARGV.first", __FILE__, flags: ["-w"], env: { "PLAIT_PURE" => "1" })
    assert_predicate(result, :success?, result.out + result.err)
  end

  private

  def loops = Plait.const_get(:Patches)::IOPatches::Loops.instance_variable_get(:@loops)

  # @param ios [Array<IO>] the first is waited for, then closed
  # @param by [Proc] is given what closes it
  # @return [Array(Class, String), Object] the error of the block, or what it returned
  def closed_under(ios = IO.pipe, with: :close, by: :call.to_proc, &call)
    value = error = nil
    assert_no_leaks do
      in_fiber do
        waiter = Fiber.schedule { error = error_of { value = Timeout.timeout(LIMIT) { call.call(ios.first) } } }
        sleep(0)
        by.call(-> { ios.first.public_send(with) })
        wait_until(what: "the end of the wait") { !waiter.alive? }
      end
    end
    error || value
  ensure
    ios.each(&:close)
  end

  # @param meanwhile [#call] what the thread does behind the close
  # @param event [#call] ends the wait, behind another fiber that holds the loop until then
  # @return [Object] what the block returned, or its error
  def closed_by_a_thread(io, meanwhile:, event:)
    skip("without the extension io-event goes on with the number that it has") unless Plait.const_get(:Native).available?
    gate, opener = IO.pipe
    held = Queue.new
    closed = Queue.new
    closer = Thread.new { [held.pop, io.close, meanwhile.call].then { closed << true } }
    got = nil
    Thread.new do
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule do
        got = yield
      rescue StandardError => e
        got = e
      end
      Fiber.schedule { gate.readpartial(1) && (held << true) && Fiber.new(blocking: true) { closed.pop }.resume }
      Fiber.new(blocking: true) { opener.syswrite("x") && event.call }.resume
    end.join
    closer.join
    got
  ensure
    [gate, opener].compact.each(&:close)
  end

  def full_pipe
    reader, writer = IO.pipe
    nil while writer.write_nonblock("x" * 4096, exception: false).is_a?(Integer)
    [writer, reader]
  end

  def error_of
    yield
    nil
  rescue StandardError => e
    [e.class, e.message]
  end
end
