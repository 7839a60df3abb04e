# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "socket"

class ServerRelayTest < Minitest::Test
  PIECE = ("r" * Plait::Server.const_get(:Relay)::RECORD).freeze
  PIECES = 200

  def setup
    @peer, ours = UNIXSocket.pair
    @core, theirs = UNIXSocket.pair
    @relay = Plait::Server.const_get(:Relay).new(Plait.const_get(:Io)::Stream.new(ours), theirs)
    @into = String.new(capacity: PIECE.bytesize)
  end

  def teardown
    [@peer, @core].each(&:close)
    @relay.close
  end

  def test_what_is_asked_needs_no_memory_for_each_piece
    ask = Thread.new { @relay.ask }
    assert_operator(bytes_for { carry(@peer, @core) }, :<, PIECES * PIECE.bytesize / 4)
    @peer.close_write
    assert_nil(@core.read(1))
    ask.join
  end

  def test_what_is_answered_needs_no_memory_for_each_piece
    answer = Thread.new { @relay.answer }
    assert_operator(bytes_for { carry(@core, @peer) }, :<, PIECES * PIECE.bytesize / 4)
    @core.close_write
    assert_nil(@peer.read(1))
    answer.join
  end

  # As a fiber may be, when the server ends.
  def test_a_relay_that_is_cancelled_as_it_closes_leaves_no_socket_open
    ours, theirs, *others = UNIXSocket.pair + UNIXSocket.pair
    stream = Struct.new(:io) { def close = raise(Interrupt) }.new(ours)
    assert_raises(Interrupt) { Plait::Server.const_get(:Relay).new(stream, theirs).close }
    assert_predicate(theirs, :closed?)
  ensure
    [ours, theirs, *others].each(&:close)
  end

  private

  def carry(from, to)
    PIECES.times do
      from.write(PIECE)
      left = PIECE.bytesize
      while left.positive?
        to.wait_readable
        left -= to.read_nonblock(left, @into).bytesize
      end
    end
  end

  # What malloc was asked for, and the collector would have to give back.
  def bytes_for(&block)
    2.times(&block)
    GC.start
    GC.disable
    before = GC.stat(:malloc_increase_bytes)
    yield
    GC.stat(:malloc_increase_bytes) - before
  ensure
    GC.enable
  end
end
