# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/rpc"

# What waits for a worker, and what may come.
class RPCBacklogTest < Minitest::Test
  Server = Plait::RPC::Server
  # As far as the backlog knows one.
  Connection = Struct.new(:session) do
    def congested? = false
    def closed? = false
  end

  # Of two who look at once whether there is room, one finds it: none of their requests is refused.
  def test_the_last_place_is_given_once
    backlog = Server.const_get(:Backlog).new(1, 10)
    one, other = Array.new(2) { peer }
    assert(backlog.promise_one(one))
    refute(backlog.promise_one(other))
    assert(backlog.promise_one(one))
    backlog.keep_promise(one)
    assert(backlog.promise_one(other))
    backlog.keep_promise(other)
    assert(backlog.push(Plait::RPC::Incoming.new(other.connection, 1, "add", nil, [])))
    refute(backlog.promise_one(one))
  end

  private

  def peer = Server.const_get(:Peer).new.tap { |one| one.connection = Connection.new(one) }
end
