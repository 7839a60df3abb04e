# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "support/fresh_ruby"
require_relative "toy_server"

# The face of msgpack-rpc, over Plait's client and server.
class RPCCompatTest < Minitest::Test
  PROGRAM = File.expand_path("compat/program.rb", __dir__)
  # As msgpack-rpc 0.7.0 has it.
  EXPECTED = File.expand_path("compat/expected.txt", __dir__)

  # A JVM takes seconds to start.
  def hard_timeout = 300

  def test_a_program_written_for_msgpack_rpc
    skip("it is a program for CRuby") if RUBY_ENGINE == "jruby"
    out, err, = Open3.capture3(RbConfig.ruby, "-w", *Support::FLAGS, PROGRAM, "plait/rpc/compat")
    assert_equal("", err)
    assert_equal(File.read(EXPECTED), out)
  end

  def test_no_method_that_ignores_a_block_is_warned_of
    known = Warning.respond_to?(:categories) && Warning.categories.include?(:strict_unused_block) # from CRuby 3.4 on
    skip("this Ruby has no such warning") unless known
    _, err, = Open3.capture3(RbConfig.ruby, "-W:strict_unused_block", *Support::FLAGS, PROGRAM, "plait/rpc/compat")
    assert_equal("", err)
  end

  def test_msgpack_rpc_itself_says_the_same
    skip("msgpack-rpc is not installed: bin/setup test drivers") unless Gem.loaded_specs.key?("msgpack-rpc")
    out, err, status = Open3.capture3(RbConfig.ruby, PROGRAM, "msgpack/rpc")
    assert_predicate(status, :success?, err)
    assert_equal(File.read(EXPECTED), out)
  end

  def test_both_at_once_are_refused
    code = "module MessagePack; module RPC; end; end; require 'plait/rpc/compat'"
    result = Support::FreshRuby.run(code)
    refute_predicate(result, :success?)
    assert_includes(result.err, "take out the other require")
  end

  def test_it_loads_behind_plait_as_before_it
    [%w[plait plait/rpc/compat], %w[plait/rpc/compat plait], %w[plait/rpc plait/rpc/compat]].each do |paths|
      result = Support::FreshRuby.run("ARGV.each { |path| require path }; print MessagePack::RPC::Server", *paths)
      assert_equal(["MessagePack::RPC::Server", ""], [result.out, result.err], paths)
    end
  end

  def test_no_method_of_ruby_can_be_called
    result = script(<<~RUBY)
      class Base; def inherited_one = 1; end
      module Mixin; def mixed_in = 2; end
      class Service < Base
        include Mixin
        def own = 3
        def method_missing(name, *) = name
        def respond_to_missing?(*) = true
      end
      with(Service.new) do |client|
        puts(%i[inherited_one mixed_in own].map { |name| client.call(name) }.inspect)
        %i[instance_eval send method_missing initialize system rpc.ping].each do |name|
          client.call(name, "1")
          puts("\#{name} was called")
        rescue MessagePack::RPC::RemoteError => e
          puts(e.message)
        end
      end
    RUBY
    refused = %w[instance_eval send method_missing initialize system rpc.ping].map { |name| "method `#{name}' is not accepted" }
    assert_equal(["[1, 2, 3]", *refused], result.lines.map(&:chomp))
  end

  # Both servers, with methods that a gem adds to every object.
  def test_no_method_of_a_gem_can_be_called
    skip("ActiveSupport is not installed: bin/setup test development") unless Gem.loaded_specs.key?("activesupport")
    result = script(<<~RUBY)
      alias serving_it with # a name of ActiveSupport's too
      undef with
      require "active_support"
      require "active_support/core_ext"
      require "delegate"
      require "ostruct"
      class Service; def own = 3; end
      class Delegated < SimpleDelegator; def own = 3; end
      class Generated < DelegateClass(Array); def own = 3; end
      class Bag < OpenStruct; def own = 3; end
      class Ghost; def own = 3; def method_missing(name, ...) = [].__send__(name, ...); def respond_to_missing?(*) = true; end
      module Alone; extend ActiveSupport::Concern; def self.own = 3; end
      Pair = Struct.new(:x) { def own = 3 }
      names = [Object, Class, SimpleDelegator, OpenStruct, Pair.superclass, Array].flat_map(&:instance_methods)
      names |= Object.private_instance_methods | %i[` instance_eval! send! try! method_missing]
      names -= %i[own pry byebug]
      puts names.size > 300, names.include?(:try), names.include?(:instance_eval)
      [Service.new, Delegated.new([]), Generated.new([]), Bag.new(a: 1), Ghost.new, Alone, Pair.new(1)].each do |handler|
        native = Plait::RPC::Server.new(handler)
        address = native.listen("127.0.0.1", 0)
        serving = native.start
        serving_it(handler) do |client|
          Plait::RPC::Client.open(address) do |other|
            [client, other].each do |one|
              called = names.select do |name|
                one.call(name, "send", "`", "id")
              rescue MessagePack::RPC::RemoteError, Plait::RemoteError => e
                !e.message.match?(/is not accepted|there is no method/)
              else
                true
              end
              puts called.inspect unless called.empty? && one.call(:own) == 3
            end
          end
        end
        native.stop
        serving.join
      end
    RUBY
    assert_equal("true\ntrue\ntrue\n", result)
  end

  def test_a_client_is_shared_by_threads_and_its_server_runs_one_method_at_a_time
    result = script(<<~RUBY)
      class Service
        def initialize = @count = 0
        def count = @count += 1
        def twice(number) = number * 2
      end
      with(Service.new) do |client|
        threads = Array.new(8) { |t| Thread.new { Array.new(50) { |i| client.call(:twice, t * 50 + i) } } }
        puts(threads.flat_map(&:value) == (0...400).map { |i| i * 2 })
        threads = Array.new(8) { Thread.new { Array.new(50) { client.call(:count) } } }
        puts(threads.flat_map(&:value).sort == (1..400).to_a)
      end
    RUBY
    assert_equal("true\ntrue\n", result)
  end

  def test_servers_that_call_each_other
    skip_without_fibers
    result = script(<<~RUBY)
      class Service
        attr_accessor :server, :other

        def descend(depth)
          depth == 0 ? 0 : 1 + server.get_session("127.0.0.1", other).call(:descend, depth - 1)
        end
      end
      one, two = Service.new, Service.new
      with(one) do |client, server|
        with(two) do |second, partner|
          one.server, one.other, two.server, two.other = server, second.port, partner, client.port
          puts(client.call(:descend, 5))
        end
      end
    RUBY
    assert_equal("5\n", result)
  end

  # msgpack-rpc waits until the time is up.
  def test_the_end_of_the_connection_is_told_at_once
    ToyServer.open(->(_message, peer) { peer.socket.shutdown }) do |toy|
      result = script(<<~RUBY)
        MessagePack::RPC::Client.open("127.0.0.1", #{toy.port}) do |client|
          client.call(:hello)
        rescue MessagePack::RPC::StreamClosedError => e
          puts(e.code, e.message, e.cause.class, e.is?(MessagePack::RPC::TransportError))
        end
      RUBY
      code, message, cause, kind = result.lines.map(&:chomp)
      assert_equal([".TransportError.StreamClosedError", "Plait::ConnectionClosed", "true"], [code, cause, kind])
      assert_match(/closed the connection.*hello/, message)
    end
  end

  def test_names_of_errors_are_compared_as_a_whole
    result = script(<<~RUBY)
      puts(%w[.CallError.Busy .CallError.Busy.Really .CallError.Busybody].map { |code|
        MessagePack::RPC::RPCError.new(code).is?(".CallError.Busy")
      }.inspect)
    RUBY
    assert_equal("[true, true, false]\n", result)
  end

  def test_a_result_that_is_not_there_yet_is_nil_and_a_closed_client_connects_again
    skip_without_fibers
    result = script(<<~RUBY)
      class Service
        def initialize = @go = Queue.new
        def wait = @go.pop
        def go(word) = @go.push(word) && word
      end
      with(Service.new) do |client|
        future = client.call_async(:wait)
        puts(future.result.inspect, future.error.inspect)
        client.call(:go, "gone")
        puts(future.get)
        client.close
        puts(client.call(:go, "again"))
      end
    RUBY
    assert_equal("nil\nnil\ngone\nagain\n", result)
  end

  def test_what_closes_a_client
    result = script(<<~RUBY)
      require "timeout"
      listener = TCPServer.new("127.0.0.1", 0)
      ended = -> { Timeout.timeout(60) { listener.accept.read.empty? } }
      MessagePack::RPC::Client.open("127.0.0.1", listener.addr[1]) { |client| client.notify(:hello) }
      puts(ended.call)
      pool = MessagePack::RPC::SessionPool.new
      pool.get_session("127.0.0.1", listener.addr[1]).notify(:hello)
      pool.close
      puts(ended.call)
    RUBY
    assert_equal("false\nfalse\n", result)
  end

  def test_a_server_that_is_gone_is_an_error
    result = script(<<~RUBY)
      port = free_port
      client = MessagePack::RPC::Client.new("127.0.0.1", port)
      server = MessagePack::RPC::Server.new
      server.listen("127.0.0.1", port, [1], %w[size])
      serving = Thread.new { server.run }
      puts(client.call(:size))
      server.stop
      serving.join
      begin
        client.call(:size)
      rescue MessagePack::RPC::RPCError => e
        puts(e.class)
      end
    RUBY
    assert_equal("1\nMessagePack::RPC::ConnectionTimeoutError\n", result)
  end

  def test_a_server_can_run_again_after_a_stop
    result = script(<<~RUBY)
      server = MessagePack::RPC::Server.new
      2.times do
        server.listen("127.0.0.1", port = free_port, [1], %w[size])
        thread = Thread.new { server.run }
        MessagePack::RPC::Client.open("127.0.0.1", port) { |client| puts(client.call(:size)) }
        server.stop
        thread.join
      end
      server.listen("127.0.0.1", port = free_port, [1], %w[size])
      server.close # without a run
      begin
        TCPSocket.new("127.0.0.1", port)
      rescue Errno::ECONNREFUSED
        puts("closed")
      end
    RUBY
    assert_equal("1\n1\nclosed\n", result)
  end

  private

  HELPERS = <<~RUBY
    require "plait/rpc/compat"
    require "support/server"

    def free_port = Support::Server.free_port

    def with(object)
      server = MessagePack::RPC::Server.new
      server.listen("127.0.0.1", port = free_port, object)
      thread = Thread.new { server.run }
      client = MessagePack::RPC::Client.new("127.0.0.1", port)
      yield client, server
    ensure
      client.close
      server.stop
      server.close
      thread.join
    end
  RUBY
  private_constant :HELPERS

  # A process of its own, whose MessagePack::RPC is ours.
  def script(code)
    result = Support::FreshRuby.run(HELPERS + code, flags: ["-w"])
    assert_equal("", result.err)
    result.out
  end
end
