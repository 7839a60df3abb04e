# frozen_string_literal: true

require "msgpack"
require "socket"
require "test_helper"
require "plait/rpc"

# Peers who ask for much and read nothing.
class RPCServerPressureTest < Minitest::Test
  SIZE = 200_000
  PEERS = 4
  REQUESTS = 250

  # Has much to say.
  class Orator
    def speak = "x" * SIZE
  end

  # What was answered lies in the kernel's buffers, or waits here: as much as the outbox says, and one answer of each worker.
  # While one worker sends, without the GVL, the others must not go on answering as if that were sent already.
  def test_has_no_more_answers_waiting_than_its_outbox_allows
    %i[threads fibers].each do |mechanism|
      with_server(mechanism) do |server, endpoint|
        peers = Array.new(PEERS) { ask(endpoint) }
        wait_until(timeout: 60) { at_rest?(server) }

        assert_operator(waiting, :<, PEERS * (Plait::RPC.const_get(:Connection)::OUTBOX + (20 * SIZE)), mechanism)
      ensure
        peers&.each(&:close)
      end
    end
  end

  private

  def with_server(mechanism)
    server = Plait::RPC::Server.new(Orator.new, on: mechanism, limit: 16)
    endpoint = server.listen("127.0.0.1", 0)
    running = server.start
    yield server, endpoint
  ensure
    server.stop(within: 0)
    running&.join
  end

  def ask(endpoint)
    TCPSocket.new(endpoint.host, endpoint.port).tap do |socket|
      socket.write(Array.new(REQUESTS) { |id| [0, id, "speak", []].to_msgpack }.join)
    end
  end

  # @return [Boolean] whether all of its peers are waited for
  def at_rest?(server)
    told = server.statistics

    told[:connections] == PEERS && told[:done] >= PEERS && told[:running].zero? && told[:waiting].zero? && congested == PEERS
  end

  def congested = connections.count(&:congested?)

  def waiting = connections.sum(&:unsent)

  def connections = ObjectSpace.each_object(Plait::RPC.const_get(:Connection)).reject(&:closed?)
end
