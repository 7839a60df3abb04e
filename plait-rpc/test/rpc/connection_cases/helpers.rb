# frozen_string_literal: true

require "plait/rpc"
require_relative "../talker"
require_relative "../toy_server"

module ConnectionCases
  # Connections to somebody. Who includes it says which line: they have.
  module Helpers
    private

    # Answers with its first argument.
    def echo = ->((kind, id, _method, arguments), peer) { peer.answer(id, arguments.first) if kind == 0 }

    # A connection, and the other end of it.
    def with_pair(**options)
      ours, theirs = pair
      connection = Plait::RPC.const_get(:Connection).new(ours, endpoint: "unix:///pair", line: line, **options)
      yield(connection, Talker.new(theirs))
    ensure
      connection&.close
      theirs&.close
    end

    # @return [Array<IO>] two connected sockets
    def pair = UNIXSocket.pair

    # A connection to a server that runs the script.
    def with_peer(script = ToyServer::ADD, **options)
      ToyServer.open(script) do |server|
        socket = TCPSocket.new("127.0.0.1", server.port)
        connection = Plait::RPC.const_get(:Connection).new(socket, endpoint: server.url, line: line, **options)
        yield connection
      ensure
        connection&.close
      end
    end

    def wait_until_asleep(threads)
      Support::Waiting.wait_until(what: "sleeping threads") { threads.all? { |thread| !thread.alive? || thread.status == "sleep" } }
      sleep(0.01) # asleep, and where it is meant to be
    end

    # @param skip [Integer] messages that nobody has heard yet
    def assert_still_usable(connection, talker, skip: 0)
      talker.hear_many(skip)
      future = connection.call(:still, [])
      assert_equal([0, future.id, "still", []], talker.hear)
      talker.answer(future.id, "usable")
      assert_equal("usable", future.value)
      assert_predicate(connection, :idle?)
    end
  end
end
