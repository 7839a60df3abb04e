# frozen_string_literal: true

require_relative "../test_helper"
require "plait/rpc"
require "socket"

# What a server waits for, connection by connection.
class RPCSwitchboardTest < Minitest::Test
  Server = Plait::RPC::Server

  # As far as the switchboard knows one: it is always writable, and has bytes to send.
  Connection = Struct.new(:to_io, :sending, keyword_init: true) do
    def flush = sending
    def sending? = sending
    def unsent = 5
    def read_available = :idle
    def congested? = false
    def pending = 0
    def sent = 0
    def received = 0
  end

  # Whoever sends sees to what is left: to wait for the socket as well would be to turn in circles until he is done.
  def test_is_not_woken_while_another_one_sends
    assert_empty(told(sending: true))
    assert_equal(1, told(sending: false).size)
  end

  private

  def told(sending:)
    ours, theirs = UNIXSocket.pair
    lock = Server::Lock.new
    board = Server::Switchboard.new(lock, Server::Backlog.new(8, 8), {})
    peer = Server::Peer.new
    peer.connection = Connection.new(to_io: ours, sending: sending)
    board.admit(peer)
    theirs.write("x")
    board.reactor.wait(Plait::Deadline.after(5))
    ours.read_nonblock(1)
    board.attend(peer)
    board.reactor.wait(Plait::Deadline.after(0.05))
  ensure
    board&.close
    [ours, theirs].each(&:close)
  end
end
