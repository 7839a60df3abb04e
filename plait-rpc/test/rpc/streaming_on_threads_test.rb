# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require_relative "streaming_cases"

class RPCStreamingOnThreadsTest < Minitest::Test
  include StreamingCases

  def mechanism = :threads

  # Of all that is reserved only the first question, and no second time.
  def test_a_peer_that_does_not_know_streams
    asked = Thread::Queue.new
    refuse = lambda do |message, peer|
      asked << message
      peer.refuse(message[1], "what?")
    end
    ToyServer.open(refuse) do |toy|
      Plait::RPC::Client.open(toy.url) do |client|
        error = assert_raises(Plait::UnsupportedError) { client.stream(:export, [1].each) }
        assert_match(/does not take streams \(what\?\): call export without/, error.message)
      end
      assert_equal(1, asked.size)
      assert_equal([0, 0, "rpc.stream", 1], asked.pop.flatten.first(4))
    end
  end
end
