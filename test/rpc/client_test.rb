# frozen_string_literal: true

require_relative "../test_helper"
require "plait/rpc"
require_relative "toy_server"

class RPCClientTest < Minitest::Test
  def test_calls
    with_client { |client| assert_equal(3, client.call(:add, 1, 2)) }
  end

  def test_futures_in_any_order
    held = []
    script = lambda do |message, peer|
      held << message
      held.reverse_each { |_, id, _, arguments| peer.answer(id, arguments.sum) } if held.size == 3
    end
    with_client(script) do |client|
      futures = [[1, 2], [3, 4], [5, 6]].map { |pair| client.call_async(:add, *pair) }
      assert_equal([3, 7, 11], futures.map(&:value))
    end
  end

  def test_threads_share_a_client
    with_client do |client|
      threads = Array.new(8) { |t| Thread.new { Array.new(50) { |i| client.call(:add, t * 1000, i) } } }
      threads.each_with_index { |thread, t| assert_equal(Array.new(50) { |i| (t * 1000) + i }, thread.value) }
    end
  end

  def test_fibers_share_a_client
    with_client do |client|
      sums = Plait.map(0...200, on: :fibers, limit: 50) { |i| client.call(:add, i, 1) }
      assert_equal((1..200).to_a, sums)
    end
  end

  def test_notifications
    told = Queue.new
    with_client(->(message, _peer) { told << message }) do |client|
      client.notify(:log, "hello")
      assert_equal([2, "log", ["hello"]], told.pop)
    end
  end

  def test_the_error_of_the_peer_is_kept_whole
    with_client(->(message, peer) { peer.refuse(message[1], [42, "no such thing", { "id" => 7 }]) }) do |client|
      error = assert_raises(Plait::RemoteError) { client.call(:find, 7) }
      assert_equal([42, "no such thing", { "id" => 7 }], error.error)
      assert_equal([42, "no such thing", { "id" => 7 }, :find], [error.code, error.message, error.data, error.method_name])
    end
  end

  private

  def with_client(script = ToyServer::ADD)
    assert_no_leaks do
      ToyServer.open(script) do |server|
        client = Plait::RPC::Client.connect(server.url)
        yield(client, server)
      ensure
        client&.close
      end
    end
  end
end
