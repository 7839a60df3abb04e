# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "plait/rpc"
require "plait/rpc/server/switchboard"

# What a server does no more often than it has to.
class RPCServerEconomyTest < Minitest::Test
  SIZE = 1 << 20
  CALLS = 40

  # Has something large to tell.
  class Library
    def initialize
      @book = "x" * SIZE
    end

    def read = @book
  end

  # The leader stays in C, and reads without the accounts of the switchboard.
  def test_waits_beside_one_that_asks_again_and_again
    skip "is done on Linux, in C" unless Plait::RPC.const_get(:NativeRound).method_defined?(:go)
    server = Plait::RPC::Server.new(Library.new, on: :threads)
    endpoint = server.listen("127.0.0.1", 0)
    running = server.start
    asks = "300.times { client.call('rpc.ping') }"

    looks = count(Plait::RPC::Server.const_get(:Switchboard).instance_method(:serve)) { in_a_process(endpoint, asks) }

    assert_includes(1..150, looks)
  ensure
    server.stop(within: 0)
    running&.join
  end

  # A socket takes a few hundred kilobytes at once. Who sends goes on by himself: nobody else has to look meanwhile.
  def test_looks_at_who_reads_a_large_answer_only_when_it_takes_more
    %i[threads fibers].each do |mechanism|
      server = Plait::RPC::Server.new(Library.new, on: mechanism)
      endpoint = server.listen("127.0.0.1", 0)
      running = server.start

      looks = count(Plait::RPC::Server.const_get(:Switchboard).instance_method(:serve)) { in_a_process(endpoint, "client.map(:read, [[]] * #{CALLS}, limit: 4)") }

      assert_includes(1..(10 * CALLS), looks, mechanism)
    ensure
      server.stop(within: 0)
      running&.join
    end
  end

  private

  # So that the server's threads have nobody but themselves beside them.
  def in_a_process(endpoint, deed)
    code = <<~RUBY
      require "plait/rpc"
      Plait::RPC::Client.open(ARGV[0]) { |client| #{deed} }
    RUBY
    result = Support::FreshRuby.run(code, endpoint.to_s)

    assert_predicate(result, :success?, result.err)
  end

  def count(method)
    calls = 0
    trace = TracePoint.new(:call) { calls += 1 }
    trace.enable(target: method)
    yield
    calls
  ensure
    trace.disable
  end
end
