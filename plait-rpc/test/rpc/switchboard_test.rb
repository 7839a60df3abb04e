# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/rpc"
require "socket"

# What a server waits for, connection by connection.
class RPCSwitchboardTest < Minitest::Test
  Server = Plait::RPC::Server

  # As far as the switchboard knows one: it has too much to send, until it is read from, which sends too.
  Connection = Struct.new(:to_io, :congested, keyword_init: true) do
    def read_available
      self.congested = false
      :idle
    end

    def congested? = congested
    def buffered? = false
    def flush = !congested
    def sending? = false
    def unsent = congested ? 5 : 0
    def pending = 0
    def sent = 0
    def received = 0
  end

  # Nobody else would come to let them go on: all is sent.
  def test_what_is_held_back_goes_on_when_reading_has_sent_the_rest
    with_board do |board, peer, backlog|
      peer.held = [:request]
      board.attend(peer)
      assert_equal(1, backlog.size)
      assert_nil(peer.held)
    end
  end

  # Another worker reads from the peer as the server stops: it may not have come to the last requests.
  def test_a_server_that_stops_reads_from_each_peer_once_more
    with_board do |board, peer|
      shift = Server.const_get(:Shift).allocate
      shift.instance_variable_set(:@board, board)
      board.take_hold(peer)
      stopping = Thread.new { shift.send(:take_what_came, Plait::Deadline.after(60)) }
      refute(stopping.join(0.1))
      board.release(peer, nil)
      assert(stopping.join(60))
      refute_predicate(peer.connection, :congested?) # it was read from
      board.take_hold(peer)
      shift.send(:take_what_came, Plait::Deadline.after(0))
    end
  end

  private

  def with_board
    ours, theirs = UNIXSocket.pair
    backlog = Server.const_get(:Backlog).new(8, 8)
    board = Server.const_get(:Switchboard).new(Plait::RPC.const_get(:Lock).new, backlog, {})
    peer = Server.const_get(:Peer).new
    peer.connection = Connection.new(to_io: ours, congested: true)
    board.admit(peer)
    yield board, peer, backlog
  ensure
    board&.close
    [ours, theirs].each(&:close)
  end
end
