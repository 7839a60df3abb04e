# frozen_string_literal: true

require "test_helper"
require "support/interrupts"
require "support/io_cases"

class IoStreamTest < Minitest::Test
  include IoCases
  include Support::Interrupts

  BIG = Random.new(1).bytes(5_000_000).freeze

  everywhere("fill and consume") do
    with_stream do |stream, peer|
      peer.write("hello world")
      assert_equal(11, stream.fill(deadline: within(60)))
      stream.consume(6)
      assert_equal("world", stream.buffer)
      peer.write("!")
      assert_equal(1, stream.fill(deadline: within(60)))
      assert_equal("world!", stream.buffer)
      assert_equal(Encoding::BINARY, stream.buffer.encoding)
      stream.consume(6)
      peer.close
      assert_nil(stream.fill(deadline: within(60)))
    end
  end

  everywhere("a timeout of fill loses nothing") do
    with_stream do |stream, peer|
      peer.write("ab")
      stream.fill(deadline: within(60))
      error = assert_raises(Plait::ReadTimeout) { stream.fill(deadline: within(0.03)) }
      assert_match(/tcp:.*sent nothing in time/, error.message)
      assert_equal(stream.endpoint.to_s, error.endpoint)
      refute_predicate(error, :retry_safe?)
      refute_predicate(stream, :closed?)
      peer.write("cd")
      assert_equal("abcd", stream.read_exactly(4, deadline: within(60)))
    end
  end

  everywhere("read_partial into a buffer") do
    with_stream do |stream, peer|
      buffer = String.new(capacity: 100)
      peer.write("one")
      assert_same(buffer, stream.read_partial(100, buffer, deadline: within(60)))
      assert_equal("one", buffer)
      peer.write("twothree")
      stream.fill(deadline: within(60)) until stream.buffer.bytesize == 8
      assert_equal("two", stream.read_partial(3, buffer))
      assert_same(buffer, stream.read_partial(100, buffer))
      assert_equal("three", buffer)
      peer.close
      assert_nil(stream.read_partial(100, buffer, deadline: within(60)))
    end
  end

  everywhere("read_exactly of a large message that begins in the buffer") do |mechanism|
    with_stream do |stream, peer|
      peer.write("head")
      stream.fill(deadline: within(60))
      sent = mechanism.beside { peer.write(BIG) && peer.close }
      assert_equal("he", stream.read_exactly(2))
      whole = stream.read_exactly(BIG.bytesize + 2, deadline: within(30))
      sent.call
      assert_equal("ad", whole.byteslice(0, 2))
      assert_equal(BIG.hash, whole.byteslice(2..).hash)
      assert_equal(Encoding::BINARY, whole.encoding)
      assert_nil(stream.fill(deadline: within(60)))
    end
  end

  everywhere("a truncated message is an error and closes") do
    with_stream do |stream, peer|
      peer.write("abc")
      peer.close
      error = assert_raises(Plait::ConnectionClosed) { stream.read_exactly(10, deadline: within(60)) }
      assert_match(/after 3 of 10 bytes/, error.message)
      assert_predicate(stream, :closed?)
      assert_raises(Plait::ConnectionClosed) { stream.fill }
    end
  end

  # Ruby 4.0 writes zeros into all that `String.new(capacity:)` reserves.
  def test_a_promise_of_much_takes_no_memory
    skip("needs /proc") unless File.exist?("/proc/self/statm")
    with_stream do |stream, peer|
      peer.write("abc")
      before = resident
      assert_raises(Plait::ReadTimeout) { stream.read_exactly(900_000_000, deadline: within(0.03)) }
      assert_operator(resident - before, :<, 30_000_000)
    end
  end

  everywhere("a timeout within a message closes") do
    with_stream do |stream, peer|
      peer.write("abc")
      assert_raises(Plait::ReadTimeout) { stream.read_exactly(10, deadline: within(0.03)) }
      assert_predicate(stream, :closed?)
      assert_predicate(stream.io, :closed?)
    end
  end

  everywhere("the deadline is for the whole message") do |mechanism|
    with_stream do |stream, peer|
      drip = mechanism.beside { 6000.times { peer.write("x") && sleep(0.01) } rescue SystemCallError } # rubocop:disable Style/RescueModifier
      took = stopwatch { assert_raises(Plait::ReadTimeout) { stream.read_exactly(6000, deadline: within(0.2)) } }
      assert_operator(took, :<, 30) # half of the time in which all of it comes
      drip.call
    end
  end

  everywhere("write of parts small and large") do |mechanism|
    with_stream do |stream, peer|
      parts = ["a" * 10, "é", "", BIG, "b" * 20_000, "c".encode("UTF-16LE"), "d"]
      expected = parts.map(&:b).join
      got = mechanism.beside { peer.read(expected.bytesize) }
      assert_equal(expected.bytesize, stream.write(*parts, deadline: within(30)))
      assert_equal(expected.hash, got.call.hash)
    end
  end

  everywhere("a peer that takes nothing") do
    with_stream do |stream, _peer|
      error = assert_raises(Plait::WriteTimeout) { stream.write(BIG, BIG, BIG, BIG, deadline: within(0.05)) }
      assert_match(/did not take the bytes/, error.message)
      assert_predicate(stream, :closed?)
    end
  end

  everywhere("a peer that resets") do
    with_stream do |stream, peer|
      stream.write("unread")
      peer.wait_readable(10)
      peer.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      peer.close
      assert_raises(Plait::ConnectionClosed) { stream.fill(deadline: within(60)) }
      assert_raises(Plait::ConnectionClosed) { 20.times { stream.write("x" * 10_000) } }
    end
  end

  everywhere("stale") do
    with_stream do |stream, peer|
      refute_predicate(stream, :stale?)
      peer.write("unasked")
      wait_until { stream.stale? }
      assert_equal("unasked", stream.read_exactly(7, deadline: within(60)))
      refute_predicate(stream, :stale?)
      peer.close
      wait_until { stream.stale? }
    end
  end

  def test_bytes_left_in_the_buffer_are_stale
    with_stream do |stream, peer|
      peer.write("answer and more")
      stream.fill(deadline: within(60))
      stream.consume(6)
      assert_predicate(stream, :stale?)
    end
  end

  def test_stale_after_a_reset_or_a_close
    with_stream do |stream, peer|
      peer.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      peer.close
      wait_until { stream.stale? }
      stream.close
      assert_predicate(stream, :stale?)
    end
  end

  def test_a_kill_within_a_message_closes
    with_stream do |stream, _peer|
      thread = Thread.new { stream.read_exactly(10) }
      wait_until { thread.stop? }
      thread.kill.join
      assert_predicate(stream.io, :closed?)
    end
  end

  # The rest of what was given up comes late; the next reader must not get it.
  def test_a_cancelled_message_leaves_nothing_to_the_next
    with_stream do |stream, peer|
      assert_raises(Plait::TimeoutError) { Plait.run(on: :fibers) { Plait.timeout(0.05) { stream.read_exactly(6) } } }
      peer.write("answer")
      assert_predicate(stream.io, :closed?)
      assert_raises(Plait::ConnectionClosed) { stream.read_exactly(6) }
    end
  end

  # A stream that is marked as waited for leaves its socket to the waiter.
  def test_an_interrupt_anywhere_in_a_wait_leaves_no_socket
    each_interrupt do
      stream, peer = stream_and_peer
      peer.write("x")
      [-> { stream.send(:await, :wait_readable, nil) }, lambda do |place|
        [stream, peer].each(&:close)
        assert_predicate(stream.io, :closed?, place)
      end]
    end
  end

  # Interrupts hit everywhere; whatever was received is in the buffer, once and in order.
  def test_fill_loses_nothing_when_it_is_interrupted_at_any_point
    with_stream do |stream, peer|
      interrupts = Queue.new
      sender = Thread.new do
        2_000.times { |n| peer.write(format("%04d", n)) && n == 1_000 && wait_until { !interrupts.empty? } }
        peer.close
      end
      read_amid(interrupts, stream)
      sender.join
      assert_equal(Array.new(2_000) { |n| format("%04d", n) }.join, stream.buffer)
      assert_operator(interrupts.size, :>, 0)
    end
  end

  everywhere("closing wakes who waits") do |mechanism|
    with_stream do |stream, peer|
      reader = mechanism.beside { assert_raises(Plait::ConnectionClosed) { stream.fill(deadline: within(300)) } }
      wait_until { stream.instance_variable_get(:@reading) }
      took = stopwatch do
        stream.close
        assert_match(/closed on this side/, reader.call.message)
      end
      assert_operator(took, :<, 60)
      assert_predicate(stream.io, :closed?)
      assert_equal("", peer.read)
    end
  end

  def test_closing_from_another_thread_wakes_a_fiber
    with_stream do |stream, _peer|
      Plait.run(on: :fibers) do |scope|
        reader = scope.async { assert_raises(Plait::ConnectionClosed) { stream.fill } }
        scope.async { sleep(0.001) until stream.instance_variable_get(:@reading) }.value
        Thread.new { stream.close }.join
        reader.value
      end
      assert_predicate(stream.io, :closed?)
    end
  end

  def test_close_is_idempotent
    with_stream do |stream, _peer|
      3.times { stream.close }
      assert_predicate(stream, :closed?)
    end
  end

  def test_one_reader_and_one_writer_at_once
    with_stream do |stream, peer|
      echo = Thread.new { IO.copy_stream(peer, peer, BIG.bytesize) }
      reader = Thread.new { stream.read_exactly(BIG.bytesize, deadline: within(60)) }
      stream.write(BIG, deadline: within(60))
      assert_equal(BIG.hash, reader.value.hash)
      echo.join
    end
  end

  def test_the_child_of_a_fork_ends_nothing
    skip("no fork here") unless Process.respond_to?(:fork)
    with_stream do |stream, peer|
      Process.wait(fork { stream.close && exit!(0) })
      stream.write("still here")
      assert_equal("still here", peer.readpartial(100))
      assert_raises(IO::WaitReadable) { peer.read_nonblock(1) }
    end
  end

  def test_the_length_is_only_the_peers_word
    with_stream do |stream, peer|
      peer.write("x")
      peer.close
      assert_raises(Plait::ConnectionClosed) { stream.read_exactly(1 << 40, deadline: within(60)) }
    end
  end

  def test_leaves_nothing_behind
    assert_no_leaks { with_stream { |stream, peer| peer.close && stream.fill } }
  end

  private

  # Held back everywhere but in the read: one that comes between two reads would end the test.
  def read_amid(interrupts, stream)
    Thread.handle_interrupt(Interruption => :never) do
      nuisance = interrupt_often(Thread.current, interrupts)
      nil until ended?(stream)
    ensure
      nuisance.kill.join
      nil while Thread.pending_interrupt? && interrupted? { Thread.pass }
    end
  end

  def interrupt_often(reader, interrupts)
    Thread.new do
      loop do
        reader.raise(Interruption)
        interrupts << 1
        sleep(Random.rand(0.001))
      end
    end
  end

  def ended?(stream)
    ended = false
    interrupted? { ended = stream.fill(deadline: within(60)).nil? }
    ended
  end

  def interrupted?(&block)
    Thread.handle_interrupt(Interruption => :immediate, &block)
    false
  rescue Interruption
    true
  end

  class Interruption < StandardError; end

  def resident = File.read("/proc/self/statm").split[1].to_i * 4096
end
