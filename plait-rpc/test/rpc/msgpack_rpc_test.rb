# frozen_string_literal: true

require "json"
require "test_helper"
require "support/fresh_ruby"
require "support/server"
require "plait/rpc"

# The gem msgpack-rpc 0.7, on either side. It runs in a process of its own: what goes wrong in it aborts the process.
class RPCMsgpackRPCTest < Minitest::Test
  VALUES = [nil, true, -1, 1.5, 4_294_967_296, "", "grüße", [1, [2]], { "a" => { "b" => [] } }].freeze
  CLIENT = <<~RUBY
    require "json"
    require "msgpack/rpc"
    client = MessagePack::RPC::Client.new(ARGV[0], Integer(ARGV[1]))
    futures = Array.new(200) { |i| client.call_async(:add, i, 1) }
    told = { sum: client.call(:add, 1, 2), echo: JSON.parse(ARGV[2]).map { |value| client.call(:echo, value) },
             many: futures.map(&:get), large: client.call(:echo, "x" * 1_000_000).bytesize }
    begin
      client.call(:break_down)
    rescue MessagePack::RPC::Error => e
      told[:error] = [e.class.name, e.message]
    end
    begin
      client.call(:system, "true")
    rescue MessagePack::RPC::Error => e
      told[:forbidden] = e.class.name
    end
    client.notify(:note, "hello")
    client.call(:add, 0, 0)
    puts(JSON.generate(told))
  RUBY
  SERVER = <<~RUBY
    require "msgpack/rpc"
    class Desk
      def add(left, right) = left + right
      def echo(value) = value
      def break_down = raise(ArgumentError, "never")
      def later(value)
        delayed = MessagePack::RPC::AsyncResult.new
        Thread.new { delayed.result(value) }
        delayed
      end
      def note(text) = $noted = text
      def noted = $noted
    end
    server = MessagePack::RPC::Server.new
    server.listen("127.0.0.1", Integer(ARGV[0]), Desk.new)
    puts("ready")
    $stdout.flush
    server.run
  RUBY

  # What is called.
  class Desk
    attr_reader :notes

    def initialize
      @notes = Queue.new
    end

    def add(left, right) = left + right
    def echo(value) = value
    def break_down = raise(ArgumentError, "never")

    def note(text)
      @notes << text
    end
  end

  def setup
    skip("msgpack-rpc is not installed: bin/setup test drivers") unless Gem.loaded_specs.key?("msgpack-rpc")
  end

  def test_is_served
    %i[threads fibers].each do |mechanism|
      desk = Desk.new
      serve(desk, mechanism) { |endpoint| assert_told(told(endpoint)) }

      assert_equal("hello", desk.notes.pop)
    end
  end

  def test_serves
    with_server do |port|
      Plait::RPC::Client.open("tcp://127.0.0.1:#{port}", raw: true) do |client|
        assert_equal(VALUES, VALUES.map { |value| client.call(:echo, value) })
        assert_equal((1..200).to_a, client.map(:add, Array.new(200) { |i| [i, 1] }))
        assert_equal(1_000_000, client.call(:echo, "x" * 1_000_000).bytesize)
        assert_shared(client)
      end
    end
  end

  def test_serves_results_that_come_later_errors_and_notifications
    with_server do |port|
      Plait::RPC::Client.open("tcp://127.0.0.1:#{port}") do |client|
        client.notify(:note, "hello")

        assert_equal("hello", client.call(:noted))
        assert_equal("at last", client.call(:later, "at last"))
        assert_match(/never/, assert_raises(Plait::RemoteError) { client.call(:break_down) }.message)
      end
    end
  end

  private

  def assert_shared(client)
    threads = Array.new(8) { |t| Thread.new { Array.new(50) { |i| client.call(:add, t * 1000, i) } } }

    assert_equal(Array.new(8) { |t| Array.new(50) { |i| (t * 1000) + i } }, threads.map(&:value))
  end

  def serve(desk, mechanism)
    server = Plait::RPC::Server.new(desk, on: mechanism, errors: :named, raw: true)
    endpoint = server.listen("127.0.0.1", 0)
    running = server.start
    yield endpoint
  ensure
    server.stop(within: 0)
    running&.join
  end

  def told(endpoint)
    result = Support::FreshRuby.run(CLIENT, endpoint.host, endpoint.port.to_s, JSON.generate(VALUES))

    assert_predicate(result, :success?, result.err)
    JSON.parse(result.out)
  end

  def assert_told(told)
    assert_equal(3, told["sum"])
    assert_equal(VALUES, told["echo"])
    assert_equal((1..200).to_a, told["many"])
    assert_equal(1_000_000, told["large"])
    assert_match(/never/, told["error"].last)
    assert_equal("MessagePack::RPC::NoMethodError", told["forbidden"])
  end

  def with_server
    port = Support::Server.free_port
    process = IO.popen([RbConfig.ruby, "-W0", "-e", SERVER, port.to_s])

    assert_equal("ready", process.gets&.chomp)
    yield port
  ensure
    if process
      Process.kill(:KILL, process.pid)
      process.close
    end
  end
end
