# frozen_string_literal: true

require "test_helper"
require_relative "server_cases"

class RPCServerOnFibersTest < Minitest::Test
  include ServerCases

  def mechanism = :fibers

  def test_a_thousand_methods_that_wait_at_once
    running = 0
    gate = Thread::Queue.new
    last = -> { 999.times { gate << true } }
    serve({ wait: -> { (running += 1) == 1_000 ? last.call : gate.pop } }, pipeline: 2_000)
    talker = connect
    talker.socket.write([0, 1, "wait", []].to_msgpack * 1_000)
    assert_equal([[1, 1, nil]], talker.hear_many(1_000).map { |answer| answer.first(3) }.uniq)
    assert_equal(1_000, running)
  end

  # On the loop that the caller lives on already.
  def test_beside_others_on_one_loop
    server = Plait::RPC::Server.new({ add: ->(a, b) { a + b } }, on: :fibers)
    endpoint = server.listen("127.0.0.1", 0)
    talker = nil
    answer = Plait.run(on: :fibers) do |scope|
      serving = scope.async { server.run }
      talker = Talker.new(TCPSocket.new(endpoint.host, endpoint.port))
      talker.request(1, "add", 1, 2)
      talker.hear.tap { server.stop }.tap { serving.wait }
    end
    assert_equal([1, 1, nil, 3], answer)
  ensure
    talker&.socket&.close
  end
end
